// @ts-check
// `conclave run` on `sqlite:`, 100 rounds: the leading supervisor is killed (SIGKILL) with a ttl that nobody waits for. From before the signal to the first
// thing that the next command does. In between: the keeper ends the old command and lets go, the next is elected, looks for orphans, starts a gate, tells its
// keeper, and opens it; and a shell starts.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { keepResults, percentile } from "./results/keep.mjs";

const ROUNDS = 100;
const folder = mkdtempSync(path.join(tmpdir(), "conclave-supervised-"));
const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** @param {number} round */
async function start(round) {
  const mark = path.join(folder, `began-${round}`);
  const work = `echo $CONCLAVE_TOKEN > ${mark}.part; mv ${mark}.part ${mark}; exec sleep 1000`;
  const args = ["run", "x", "--store", `sqlite:${folder}/x.db`, "--ttl", "60s", "--json", "--", "sh", "-c", work];
  const run = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let told = "";
  run.stderr.on("data", (text) => (told += text));
  const until = async (/** @type {RegExp} */ words) => {
    while (!words.test(told)) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return { run, mark, until };
}

/** @param {string} file */
async function appears(file) {
  while (!existsSync(file)) await new Promise((resolve) => setImmediate(resolve));
  return performance.now();
}

export async function run() {
  const samples = [];
  let token = 0n;
  let leader = await start(0);
  await appears(leader.mark);
  for (let round = 1; round <= ROUNDS; round++) {
    const next = await start(round);
    await next.until(/"keeper","state":"started"/);
    await next.until(/"session","state":"opened"/);
    const from = performance.now();
    leader.run.kill("SIGKILL");
    samples.push((await appears(next.mark)) - from);
    const now = BigInt(readFileSync(next.mark, "utf8").trim());
    if (now <= token) throw new Error(`token ${now} after ${token}`);
    token = now;
    leader = next;
  }
  leader.run.kill("SIGTERM");
  await new Promise((resolve) => leader.run.once("exit", resolve));
  rmSync(folder, { recursive: true, force: true });
  if (process.env["BENCH_KEEP"] === "1") keepResults("supervised", { samplesMs: { kill: samples } });
  const what = "conclave run killed, to the next command's first act";
  return [
    { name: `${what}, p50 of ${ROUNDS}`, value: percentile(samples, 0.5), unit: "ms", goal: "" },
    { name: `${what}, p99`, value: percentile(samples, 0.99), unit: "ms", goal: "≤ 100" },
  ];
}
