// A copy of a part of the repository, with a patch applied to it, and one test file run there: for scripts that take a defence out and want a test to notice.
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { applyToText, parsePatch } from "./apply-patch.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const NEEDED = [
  "src",
  "package.json",
  "tsconfig.json",
  "tsconfig.base.json",
  "vitest.config.ts",
  "scripts/exports.mjs",
  "scripts/sql-text.mjs",
];

/**
 * @typedef {object} TestOutcome
 * @property {"passes" | "fails" | "hangs" | "cannot run"} verdict
 * @property {string} test the first that failed, with whatever it is described in
 * @property {string} story the first line of its failure; why it cannot run
 * @property {boolean} isAssertion whether an expectation was not met; else something was thrown
 */

/**
 * Applies a patch to the files of a folder.
 * @param {string} folder
 * @param {string} patch
 */
export async function applyPatch(folder, patch) {
  for (const change of parsePatch(patch)) {
    const file = path.join(folder, change.file);
    await writeFile(file, applyToText(await readFile(file, "utf8"), change));
  }
}

/**
 * @param {object} order
 * @param {string} order.test its path in the repository
 * @param {readonly string[]} order.parts what it needs besides src
 * @param {string} order.patch "": none
 * @param {number} order.longestMs without its defence a test may also never end
 * @returns {Promise<TestOutcome>}
 */
export async function runPatchedTest({ test, parts, patch, longestMs }) {
  const folder = await mkdtemp(path.join(tmpdir(), "conclave-patched-"));
  try {
    for (const part of [...NEEDED, ...parts])
      await cp(path.join(root, part), path.join(folder, part), { recursive: true });
    await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    if (patch !== "") await applyPatch(folder, patch);
    return await runTest(folder, test, longestMs);
  } catch (error) {
    return cannot(error instanceof Error ? error.message : String(error));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {string} story @returns {TestOutcome} */
function cannot(story) {
  return { verdict: "cannot run", test: "", story, isAssertion: false };
}

/** @param {string} folder @param {string} test @param {number} longestMs @returns {Promise<TestOutcome>} */
function runTest(folder, test, longestMs) {
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", test, "--bail=1", "--reporter=json"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve) => {
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, longestMs);
    child.on("close", () => {
      clearTimeout(timer);
      const story = `never ends (${longestMs / 1000} s)`;
      resolve(hung ? { verdict: "hangs", test: "", story, isAssertion: false } : judge(output));
    });
  });
}

/** @param {string} output of vitest's JSON reporter @returns {TestOutcome} */
function judge(output) {
  const begin = output.indexOf("{");
  if (begin < 0) return cannot("vitest said nothing");
  /** @type {{ numTotalTests: number, testResults: { assertionResults: { fullName: string, failureMessages: string[] }[] }[] }} */
  const report = JSON.parse(output.slice(begin));
  if (report.numTotalTests === 0) return cannot("no test ran: there is none, or the source does not load");
  const failed = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ failureMessages }) => failureMessages.length > 0);
  if (failed === undefined) return { verdict: "passes", test: "", story: "passes all the same", isAssertion: false };
  const story = failed.failureMessages[0]?.split("\n")[0] ?? "";
  return {
    verdict: "fails",
    test: failed.fullName,
    story,
    isAssertion: /^(?:AssertionError|Error: Property failed|Error: promise resolved)/.test(story),
  };
}
