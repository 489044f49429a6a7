// Mutants: takes defences out of src as it is joined for a hunt, one patch at a time, and hunts until an invariant breaks. A mutant that survives says
// that the hunt cannot see what the defence is for. src itself has no switches for this.
// Where no hunt can see it, the patch names a test file ("Found by: …"): that must pass as it is, and fail by an assertion without the defence.
// Exit: 0 every mutant was found, 1 one survived or a patch no longer applies, 2 wrong usage.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { build as bundle } from "rolldown";
import { readKnown, writeTable } from "./mutants-page.mjs";
import { PatchedTests } from "./patched-tests.mjs";
import { textsWithout } from "./without-defence.mjs";

const HELP = `Takes defences out, one at a time, and hunts until the loss is noticed.

  npm run mutants -- [options]

  --only NAME      one mutant of test/mutants or test/mutants/protocols (may be given several times)
  --protocol NAME  only the mutants of this protocol; "all": of every protocol
  --quick          without those whose test starts servers or processes, as in npm test; says how many are left out
  --tested         the tests have just passed: does not run those that find mutants once more as they are, as in npm test
  --patch FILE     your own patch: a unified diff against src
  --seeds N        give up after so many seeds (default 5000)
  --seed-base B    the first seed (default 1, but the seed that docs/MUTANTS.md names comes before all)
  --write-table    renew the rows of docs/MUTANTS.md for the mutants that were tried
  --json           one JSON object
  --help           this text

Exit: 0 every mutant was found, 1 one survived or does not apply, 2 wrong usage.
`;

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} what is taken out
 * @property {string} law
 * @property {string[] | undefined} judgedBy only this invariant may find it; any, if undefined
 * @property {string | undefined} protocol hunted in this protocol's world; in that of leases, if undefined
 * @property {string | undefined} test no hunt finds it, but this test file; a hunt must, if undefined
 * @property {string} file of the patch
 * @property {string} patch its text
 *
 * @typedef {object} Verdict
 * @property {string} foundBy what noticed; "": nothing did
 * @property {number | undefined} seed of the hunt
 * @property {string} story
 *
 * @typedef {Mutant & Verdict & { seconds: number }} Outcome
 */

/** Enough for any test file of a protocol, on a busy machine. */
const TEST_MS = 300_000;
/** The slowest hunt of 5,000 seeds takes a minute beside all tests. One that takes longer has a world without an end. */
const HUNT_MS = 600_000;
/** In folders whose other tests start servers or processes: these drive a model, or compute. */
const QUICK = new Set([
  "test/clients/etcd/answers.test.ts",
  "test/clients/etcd/errors.test.ts",
  "test/clients/etcd/fuzz.test.ts",
  "test/clients/etcd/status.test.ts",
  "test/clients/postgres/connections/puppet.test.ts",
  "test/clients/postgres/errors.test.ts",
  "test/clients/redis/client.test.ts",
  "test/clients/zookeeper/errors.test.ts",
  "test/keeper/estates.test.ts",
  "test/keeper/fate.test.ts",
  "test/stores/dynamodb/by-hand.test.ts",
  "test/stores/dynamodb/clones.test.ts",
  "test/stores/dynamodb/interleavings.test.ts",
  "test/stores/etcd/sentry.test.ts",
  "test/stores/etcd/steps.test.ts",
  "test/stores/postgres/answers.test.ts",
  "test/stores/postgres/by-hand.test.ts",
  "test/stores/redis/majority.test.ts",
  "test/stores/zookeeper/layout.test.ts",
  "test/supervisor/by-hand.test.ts",
  "test/supervisor/estate.test.ts",
]);
/** @typedef {import("./patched-tests.mjs").TestOutcome} TestOutcome */
/** Test file → how it ends as it is. @type {Map<string, Promise<TestOutcome>>} */
const begun = new Map();
const tests = new PatchedTests();
const root = fileURLToPath(new URL("..", import.meta.url));
const write = (/** @type {string} */ text) => void process.stdout.write(text);

const exitCode = await main(process.argv.slice(2));
if (exitCode !== 0) process.exitCode = exitCode;

/** @param {string[]} argv */
async function main(argv) {
  const options = readOptions(argv);
  if (typeof options === "string") {
    process.stderr.write(`${options}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    write(HELP);
    return 0;
  }
  const chosen =
    options.patch === undefined ? await readMutants(options.only, options.protocol) : [await readMutant(options.patch)];
  const mutants = options.quick ? chosen.filter(isQuick) : chosen;
  if (mutants.length === 0) {
    process.stderr.write(`no such mutant: ${options.only.join(", ")}\n`);
    return 2;
  }
  const startedAt = performance.now();
  const stopServers = await shareServers(mutants);
  const known = options.seedBase === 1 ? await readKnown() : new Map();
  const outcomes = await tryAll(mutants, { ...options, known });
  tests.close();
  await stopServers();
  const survivors = outcomes.filter(({ foundBy }) => foundBy === "");
  const seconds = (performance.now() - startedAt) / 1000;
  if (options.json) write(`${JSON.stringify({ seconds, outcomes: outcomes.map(withoutPatch) })}\n`);
  else {
    const scripted = outcomes.filter(({ test, foundBy }) => test !== undefined && foundBy !== "").length;
    const found = `${outcomes.length - survivors.length} of ${outcomes.length} mutants found`;
    write(`${found}, ${scripted} of them by a scripted test, in ${seconds.toFixed(1)} s\n`);
    const leftOut = chosen.length - mutants.length;
    if (leftOut > 0)
      write(`left out: ${leftOut} whose tests start servers or processes; npm run mutants tries them, too\n`);
    for (const { name, story } of survivors) write(`NOT FOUND  ${name}: ${story}\n`);
  }
  if (options["write-table"]) await writeTable(outcomes);
  return survivors.length === 0 ? 0 : 1;
}

/** Its test needs neither a server nor a process of its own. @param {Mutant} mutant */
function isQuick({ test = "" }) {
  if (QUICK.has(test)) return true;
  return !/^test\/(?:supervisor\/|keeper\/|stonith\/devices\/(?!watchdog)|election\/keeper\/killed|(?:stores|clients)\/(?:postgres|etcd|dynamodb|redis|zookeeper)\/|fencing\/(?:postgres|etcd|redis)\.|failover\/(?:postgres-(?:compare|interrupted|rewind)|redis-(?:late|strays)\.|last-look)|incidents\/inner-cut)/.test(
    test,
  );
}

/** @param {Outcome} outcome */
function withoutPatch({ name, what, law, test, foundBy, seed, story, seconds }) {
  return { name, what, law, test: test ?? null, foundBy, seed: seed ?? null, story, seconds };
}

/** @param {string[]} argv */
function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        only: { type: "string", multiple: true, default: [] },
        quick: { type: "boolean", default: false },
        tested: { type: "boolean", default: false },
        patch: { type: "string" },
        protocol: { type: "string" },
        seeds: { type: "string", default: "5000" },
        "seed-base": { type: "string", default: "1" },
        "write-table": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    for (const option of /** @type {const} */ (["seeds", "seed-base"]))
      if (!/^\d+$/.test(values[option])) return `--${option} ${values[option]}: a whole number is needed`;
    return { ...values, seeds: Number(values.seeds), seedBase: Number(values["seed-base"]) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * @param {string[]} only
 * @param {string | undefined} protocol
 * @returns {Promise<Mutant[]>}
 */
async function readMutants(only, protocol) {
  const folders = ["test/mutants", "test/mutants/protocols"].map((folder) => path.join(root, folder));
  const lists = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).toSorted().map((file) => path.join(folder, file))),
  );
  const files = lists.flat().filter((file) => file.endsWith(".patch"));
  const wanted = only.length === 0 ? files : files.filter((file) => only.includes(path.basename(file, ".patch")));
  const mutants = await Promise.all(wanted.map((file) => readMutant(file)));
  if (protocol === undefined) return mutants;
  return mutants.filter((mutant) => mutant.protocol !== undefined && [mutant.protocol, "all"].includes(protocol));
}

/**
 * @param {string} file
 * @returns {Promise<Mutant>}
 */
async function readMutant(file) {
  const patch = await readFile(file, "utf8");
  const what = /^# Takes out: (.*?)\.?$/m.exec(patch)?.[1] ?? "";
  const law = /^# Law: (.*)$/m.exec(patch)?.[1] ?? "";
  const judge = /^# Must be found by: (.*)$/m.exec(patch)?.[1];
  const protocol = /^# Protocol: (.*)$/m.exec(patch)?.[1];
  const test = /^# Found by: (\S+)$/m.exec(patch)?.[1];
  const judgedBy = judge === undefined ? undefined : [judge];
  return { name: path.basename(file, ".patch"), what, law, judgedBy, protocol, test, file: path.resolve(file), patch };
}

// ---- trying them -----------------------------------------------------------------------------------------------------------------------

/**
 * One PostgreSQL for all tests that can share it (test/support/servers.ts): starting one takes longer than most of them.
 * @param {Mutant[]} mutants
 * @returns {Promise<() => Promise<void>>} how to stop it
 */
async function shareServers(mutants) {
  const needsOne = ({ test = "" }) => test.includes("/postgres") && !QUICK.has(test);
  if (!mutants.some(needsOne)) return async () => {};
  const { shared, start } = await import("./servers/postgres.mjs");
  const running = await start();
  process.env[shared] = running.urls[0];
  return () => running.stop();
}

/**
 * @typedef {{ seeds: number, seedBase: number, tested: boolean, known: Map<string, string> }} How
 *
 * @param {Mutant[]} mutants
 * @param {How & { json: boolean }} options
 * @returns {Promise<Outcome[]>}
 */
async function tryAll(mutants, options) {
  /** @type {Outcome[]} */
  const outcomes = [];
  const waiting = mutants.slice();
  const width = Math.max(...mutants.map(({ name }) => name.length)) + 2;
  await Promise.all(
    Array.from({ length: Math.min(availableParallelism(), mutants.length) }, async () => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const outcome = await tryOne(mutant, options);
        outcomes.push(outcome);
        const found =
          outcome.foundBy === "" ? "SURVIVES" : outcome.seed === undefined ? "test" : `seed ${outcome.seed}`;
        if (!options.json)
          write(
            `${mutant.name.padEnd(width)}${found.padEnd(12)}${(outcome.test ?? outcome.foundBy).padEnd(24)} ${outcome.seconds.toFixed(1)} s\n`,
          );
      }
    }),
  );
  return outcomes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * @param {Mutant} mutant
 * @param {How} options
 * @returns {Promise<Outcome>}
 */
async function tryOne(mutant, options) {
  const startedAt = performance.now();
  const verdict = await (mutant.test === undefined ? hunt(mutant, options) : probe(mutant, mutant.test, options));
  return { ...mutant, ...verdict, seconds: (performance.now() - startedAt) / 1000 };
}

/**
 * @param {Mutant} mutant
 * @param {How} options
 * @returns {Promise<Verdict>}
 */
async function hunt(mutant, { seeds, seedBase, known }) {
  const folder = await mkdtemp(path.join(tmpdir(), "conclave-mutant-"));
  try {
    await build(mutant, folder);
    const first = known.get(mutant.name);
    const ranges = [
      ...(first === undefined ? [] : [{ fromSeed: Number(first), count: 1 }]),
      { fromSeed: seedBase, count: seeds },
    ];
    const finding = await huntIn(folder, mutant, ranges);
    if (finding === undefined)
      return { foundBy: "", seed: undefined, story: `no invariant was broken in ${seeds} seeds` };
    return { foundBy: finding.invariant, seed: finding.seed, story: finding.story };
  } catch (error) {
    return { foundBy: "", seed: undefined, story: error instanceof Error ? error.message : String(error) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The test must pass with the defence, and must fail without it by what it expects, not by an error that any broken patch gives.
 * @param {Mutant} mutant
 * @param {string} test
 * @param {How} options
 * @returns {Promise<Verdict>}
 */
async function probe({ name, file }, test, { tested, known }) {
  const whole = tested ? undefined : await once(test);
  if (whole !== undefined && whole.verdict !== "passes")
    return { foundBy: "", seed: undefined, story: `${test} does not pass as it is: ${whole.story}` };
  const first = known.get(name);
  const named = first === undefined ? undefined : await tests.run({ test, patch: file, name: first }, TEST_MS);
  const isNamed = named !== undefined && isFound(named);
  const tried = isNamed ? named : await tests.run({ test, patch: file, name: "" }, TEST_MS);
  // A test of servers may fail beside other work by a wait, before it comes to what it is about.
  const outcome =
    tried.verdict === "fails" && !tried.isAssertion ? await tests.run({ test, patch: file, name: "" }, TEST_MS) : tried;
  return { foundBy: isFound(outcome) ? `${test}: ${outcome.test}` : "", seed: undefined, story: outcome.story };
}

/** @param {TestOutcome} outcome */
function isFound({ verdict, isAssertion }) {
  return verdict === "fails" && isAssertion;
}

/**
 * However many mutants a test finds, it is tried once without any.
 * @param {string} test
 */
function once(test) {
  const before = begun.get(test) ?? tests.run({ test, patch: "", name: "" }, TEST_MS);
  begun.set(test, before);
  return before;
}

/**
 * Joins the simulator as it would be without the defence into one file. Types are erased and not checked, so this takes a fraction of a second.
 * @param {Mutant} mutant
 * @param {string} folder
 */
async function build(mutant, folder) {
  const patched = textsWithout(mutant.patch);
  const loaded = new Set();
  await bundle({
    cwd: root,
    input: { simulator: "src/simulator/index.ts" },
    platform: "neutral",
    logLevel: "silent",
    plugins: [
      {
        name: "without the defence",
        load: (/** @type {string} */ id) => {
          loaded.add(id);
          return patched.get(id) ?? null;
        },
      },
    ],
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" },
  });
  const idle = [...patched.keys()].filter((file) => !loaded.has(file));
  if (idle.length > 0) throw new Error(`the simulator does not use ${idle.join(", ")}`);
}

/**
 * In a thread of its own, which ends with the first finding.
 * @param {string} folder
 * @param {Mutant} mutant
 * @param {readonly { fromSeed: number, count: number }[]} ranges of seeds, one after the other
 * @returns {Promise<import("conclave/simulator").Finding | undefined>}
 */
function huntIn(folder, { judgedBy, protocol }, ranges) {
  const name = protocol ?? "lease";
  const orders = ranges.map((range) => ({
    kind: "hunt",
    name,
    ...range,
    isControl: false,
    stopsAtFirst: true,
    judgedBy,
  }));
  const simulator = pathToFileURL(path.join(folder, "simulator.mjs")).href;
  const worker = new Worker(new URL("mutant-worker.mjs", import.meta.url), { workerData: { simulator, orders } });
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(new Error(`the hunt was stopped after ${HUNT_MS / 1000} s: does one of its worlds never end?`));
      void worker.terminate();
    }, HUNT_MS);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => {
      clearTimeout(deadline);
      reject(new Error(`the thread of a hunt ended: ${code}`));
    });
  });
}
