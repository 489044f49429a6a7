// @ts-check
// What importing a driver of ours costs beyond what a program has loaded anyway: medians of fresh processes, taken in turns. A driver alone does without the core, and a program that elects has both.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { percentile } from "../results/keep.mjs";

const ROUNDS = 25;

/** The core, for what is loaded before. */
export const CORE = urlOf("index");

/** @param {readonly string[]} modules of dist, such as "stores/redis" @param {readonly string[]} loaded before them @returns {number} ms */
export function importBeyond(modules, loaded) {
  const before = importsOf(loaded);
  const after = importsOf(modules.map((module) => urlOf(module)));
  /** @type {[number[], number[]]} */
  const [alone, both] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(tookMs(before));
    both.push(tookMs(`${before} ${after}`));
  }
  return percentile(both, 0.5) - percentile(alone, 0.5);
}

/** Of a driver that brings its own client. The core has a goal of its own (import.mjs), so that driver and core together have none. @param {string} store its name */
export function importRows(store) {
  const what = `${store}, import of the driver`;
  const driver = `stores/${store}`;
  return [
    { name: what, value: importBeyond([driver], []), unit: "ms", goal: "≤ 10" },
    { name: `${what}, the core included`, value: importBeyond(["index", driver], []), unit: "ms", goal: "" },
    { name: `${what} beyond the core`, value: importBeyond([driver], [CORE]), unit: "ms", goal: "" },
  ];
}

/** @param {readonly string[]} names */
function importsOf(names) {
  return names.map((name) => `await import(${JSON.stringify(name)});`).join(" ");
}

/** @param {string} module */
function urlOf(module) {
  return new URL(`../../dist/${module}.js`, import.meta.url).href;
}

/** @param {string} code */
function tookMs(code) {
  const script = `const begun = performance.now(); ${code} process.stdout.write(String(performance.now() - begun)); process.exit();`;
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", cwd });
  return Number(stdout);
}
