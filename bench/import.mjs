// @ts-check
// What importing the core costs over a bare `node`: wall time and resident memory, each the median of many fresh processes taken in turns.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROUNDS = 25;
const core = fileURLToPath(new URL("../dist/index.js", import.meta.url));

/** @param {string} code @returns {{ ms: number, megabytes: number }} */
function measure(code) {
  const report = `;process.stdout.write(JSON.stringify({ ms: performance.now() - begun, megabytes: process.memoryUsage().rss / 2 ** 20 }))`;
  const script = `const begun = performance.now();${code}${report}`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return JSON.parse(stdout);
}

/** @param {number[]} values */
function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export async function run() {
  const bare = [];
  const loaded = [];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(measure(""));
    loaded.push(measure(`await import(${JSON.stringify(core)})`));
  }
  const ms = median(loaded.map((one) => one.ms)) - median(bare.map((one) => one.ms));
  const megabytes = median(loaded.map((one) => one.megabytes)) - median(bare.map((one) => one.megabytes));
  return [
    { name: "import of the core over bare node", value: ms, unit: "ms", goal: "≤ 15" },
    { name: "memory of the core over bare node", value: megabytes, unit: "MB", goal: "≤ 5" },
  ];
}
