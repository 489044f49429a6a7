// @ts-check
// A process of scripts/patched-tests.mjs: starts vitest once, and runs one test file after the other in it, each with its own patch of src. Vitest gives every
// run a fresh process, so that nothing of one run is left to the next; what is kept is what vite has made of the files that no patch touches.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";
import { textsWithout, WITHOUT } from "./without-defence.mjs";

/** @typedef {import("./patched-tests.mjs").Order} Order */
/** @typedef {import("./patched-tests.mjs").TestOutcome} TestOutcome */

const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = await createVitest("test", { root, watch: false, bail: 1, reporters: [{}] });
await vitest.standalone();
/** What the patch of the last run has changed. @type {string[]} */
let changed = [];

process.on("message", (/** @type {Order} */ order) => void run(order).then((outcome) => process.send?.(outcome)));
process.on("disconnect", () => process.exit());
process.send?.("ready");

/** @param {Order} order @returns {Promise<TestOutcome>} */
async function run({ test, patch, name }) {
  try {
    const texts = patch === "" ? new Map() : textsWithout(readFileSync(patch, "utf8"));
    process.env[WITHOUT] = patch;
    for (const file of [...changed, ...texts.keys()]) vitest.invalidateFile(file);
    changed = [...texts.keys()];
    if (name === "") vitest.resetGlobalTestNamePattern();
    else vitest.setGlobalTestNamePattern(name.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
    const file = path.join(root, test);
    const { testModules } = await vitest.runTestSpecifications(await vitest.globTestSpecifications([file]));
    // Vitest tells of the files of earlier runs, too.
    return judge(testModules.filter(({ moduleId }) => moduleId === file));
  } catch (error) {
    return cannot(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} story @returns {TestOutcome} */
function cannot(story) {
  return { verdict: "cannot run", test: "", story, isAssertion: false };
}

/** @param {readonly import("vitest/node").TestModule[]} modules @returns {TestOutcome} */
function judge(modules) {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const failed = tests.find((test) => test.result().state === "failed");
  if (failed !== undefined) {
    const [error] = failed.result().errors ?? [];
    const story = (error?.stack ?? error?.message ?? "").split("\n")[0] ?? "";
    const isAssertion = /^(?:AssertionError|NotConforming|Error: Property failed|Error: promise resolved)/.test(story);
    return { verdict: "fails", test: failed.fullName.replaceAll(" > ", " "), story, isAssertion };
  }
  const error = modules.flatMap((module) => module.errors()).at(0);
  if (error !== undefined) return cannot(error.message.split("\n")[0] ?? "");
  if (!tests.some((test) => test.result().state === "passed"))
    return cannot("no test ran: there is none, or the source does not load");
  return { verdict: "passes", test: "", story: "passes all the same", isAssertion: false };
}
