// The CommonJS build, as Jest and others load it, beside the ES modules, which are what Node itself takes for import and for require.
// Takes the URL of a store that several threads can open. Run in a folder where the tarball is installed.
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const path = require("node:path");
const conclave = require("conclave");

const folder = path.join(path.dirname(require.resolve("conclave/package.json")), "dist/cjs");
const built = require(path.join(folder, "index.cjs"));

async function isOneCopyInNode() {
  const imported = await import("conclave");
  assert.equal(imported.elect, conclave.elect);
  assert.notEqual(built.elect, conclave.elect);
  assert.deepEqual(Object.keys(built).toSorted(), Object.keys(conclave).toSorted());
}

/** Both copies take turns at the memory store of one name, and know each other's errors. */
async function sharesState() {
  const [mine, theirs] = await Promise.all([conclave.openStore("memory:both"), built.openStore("memory:both")]);
  const first = conclave.createCandidate({ store: mine });
  const second = built.createCandidate({ store: theirs });
  const term = await first.election("x").campaign();
  assert.equal(await second.election("x").tryCampaign(), undefined);
  await term.resign();
  assert.equal(await second.election("x").lead(async ({ token }) => token.value), 2n);
  await Promise.all([first.close(), second.close()]);
  assert.throws(() => built.createCandidate({ store: mine, ttlMs: -1 }), conclave.isConclaveError);
  assert.throws(() => built.createCandidate({ store: mine, ttlMs: -1 }), conclave.ConclaveError);
}

/** The renewal thread holds a term while this loop is blocked for longer than a ttl. It may still be starting in the first term. */
async function renewsByThread(url) {
  const store = await built.openStore(url);
  const candidate = built.createCandidate({ store, renewal: "thread", ttlMs: 1500, stallAfterMs: 30_000 });
  candidate.subscribe((event) => assert.notEqual(event.error?.code, "THREAD_LOST", event.error));
  const election = candidate.election("blocked");
  const isKept = async (term) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    return term.isHeld();
  };
  let kept = false;
  for (let rounds = 0; rounds < 5 && !kept; rounds++) {
    const term = await election.campaign();
    kept = await isKept(term);
    await term.resign();
  }
  assert.ok(kept, "no term outlived a blocked loop");
  await candidate.close();
}

async function keepsAChild(url) {
  const { Supervisor } = require(path.join(folder, "supervisor/index.cjs"));
  const told = [];
  const supervisor = new Supervisor({
    election: "child",
    command: [process.execPath, "-e", "process.exitCode = 7"],
    store: await built.openStore(url),
    ttlMs: 5000,
    tell: (event) => told.push(event),
  });
  const ending = await supervisor.run(new AbortController().signal);
  assert.deepEqual(ending, { kind: "exited", exit: { code: 7 } });
  assert.deepEqual(
    told.filter(({ type }) => type === "keeper").map(({ state }) => state),
    ["started"],
  );
}

/** An app with a keeper is killed at a ttl of a minute; this process leads long before that is over. On `sqlite:` nothing is claimed without a keeper. */
async function isKept(url) {
  const app = spawn(process.execPath, [__filename, url, "lead"], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve) => app.stdout.once("data", resolve));
  const candidate = built.createCandidate({ store: await built.openStore(url), ttlMs: 60_000 });
  const elected = candidate.election("kept").campaign();
  const from = performance.now();
  app.kill("SIGKILL");
  await (await elected).resign();
  assert.ok(performance.now() - from < 30_000, "the ttl was waited for");
  await candidate.close();
}

async function leadWithKeeper(url) {
  const store = await built.openStore(url);
  const election = built.elect("kept", { store, ttlMs: 60_000, keeper: { effectsAreFenced: true } });
  await election.campaign();
  console.log("leads");
}

async function main() {
  if (process.argv[3] === "lead") return leadWithKeeper(process.argv[2]);
  await isOneCopyInNode();
  await sharesState();
  await renewsByThread(process.argv[2]);
  if (process.platform !== "win32") await keepsAChild(process.argv[2]);
  if (process.platform === "linux") await isKept(process.argv[2]);
  console.log(`${process.version}: the CommonJS build elects, renews by a thread and keeps a child`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
