// @ts-check
// `conclave run` on a store given by its URL: the leading one is killed (SIGKILL) with a ttl that nobody waits for. From before the signal to the first thing
// that the next command does: its keeper ends the old command and lets go, the next is elected and starts its command.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** On a machine that is busy with other things a process may take ten seconds to start. */
const BEGIN_WITHIN_MS = 90_000;

/** A build without the command cannot be measured. */
export function canSupervise() {
  return existsSync(cli) && spawnSync(process.execPath, [cli, "run", "--help"]).status === 0;
}

/** @param {string} store @param {number} rounds @param {string} [ttl] @param {readonly string[]} [flags] @returns {Promise<number[]>} ms */
export async function supervised(store, rounds, ttl = "60s", flags = []) {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-supervised-"));
  const samples = [];
  let leader = start(folder, store, 0, ttl, flags);
  try {
    await leader.begun();
    for (let round = 1; round <= rounds; round++) {
      const next = start(folder, store, round, ttl, flags);
      await next.until(/"keeper","state":"started"/);
      await next.until(/"session","state":"opened"/);
      await sleep(1000); // until it waits, and is told
      const from = performance.now();
      leader.run.kill("SIGKILL");
      samples.push((await next.begun()) - from);
      leader = next;
    }
    return samples;
  } finally {
    leader.run.kill("SIGTERM");
    await leader.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {string} store @param {number} round @param {string} ttl @param {readonly string[]} flags */
function start(folder, store, round, ttl, flags) {
  const mark = path.join(folder, `began-${round}`);
  const work = `echo $CONCLAVE_TOKEN > ${mark}.part; mv ${mark}.part ${mark}; exec sleep 1000`;
  const args = ["run", "supervised", "--store", store, "--ttl", ttl, "--json", ...flags, "--", "sh", "-c", work];
  const run = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let told = "";
  let isOver = false;
  run.stderr.on("data", (text) => (told += text));
  const exited = new Promise((resolve) =>
    run.once("exit", () => {
      isOver = true;
      resolve(undefined);
    }),
  );
  /** When it is so. @param {string} what @param {() => boolean} isSo @returns {Promise<number>} */
  const when = async (what, isSo) => {
    const latest = performance.now() + BEGIN_WITHIN_MS;
    while (!isSo()) {
      if (isOver) throw new Error(`conclave run has ended before ${what}: ${told.slice(-2000)}`);
      if (performance.now() > latest)
        throw new Error(`${what}: not within ${BEGIN_WITHIN_MS} ms: ${told.slice(-2000)}`);
      await sleep(1);
    }
    return performance.now();
  };
  return {
    run,
    exited,
    until: (/** @type {RegExp} */ words) => when(String(words), () => words.test(told)),
    begun: () => when("its command began", () => existsSync(mark)),
  };
}
