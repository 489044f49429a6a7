// @ts-check
// Everything that a change must pass, stage by stage, up to the first stage that fails; then where the time went. What starts servers and processes, and measures
// real time, runs one stage after the other. The hunt and the mutants only compute: they run beside those stages, at the lowest priority, with the processor time
// that is left. Their output comes when a stage has ended.
// `--quick` leaves out what needs a server, a second process or much time: under two minutes on two cores, for daily work.
// Exit: 0 all passed, 1 a stage failed, 2 wrong usage.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "conclave-test-"));
const report = path.join(folder, "report.json");
const npm = (/** @type {string} */ script) => ["npm", "run", "-s", script];
const VITEST = [process.execPath, path.join(root, "node_modules/vitest/vitest.mjs"), "run", "--reporter=default"];
const vitest = [...VITEST, "--reporter=json", `--outputFile.json=${report}`];
/** In one process, without a server, and without waiting for a ttl. */
const QUICK = [
  "test/base/",
  "test/lease/",
  ...[
    "bully",
    "chang-roberts",
    "detector",
    "lelann",
    "raft-pre-vote",
    "raft-transfer",
    "raft-vote",
    "raft.",
    "zab",
  ].map((name) => `test/protocols/${name}`),
  "test/simulator/",
  "test/health/",
  "test/telemetry/",
  "test/testing/",
  ...["edges", "host", "no-work", "readings"].map((name) => `test/election/${name}.test.ts`),
  ...["durable", "guard", "memory", "http"].map((name) => `test/fencing/${name}.test.ts`),
  ...["choice", "guard-machine", "machine", "postgres-view"].map((name) => `test/failover/${name}.test.ts`),
  ...["assign", "chunk", "machines"].map((name) => `test/partitions/${name}.test.ts`),
  ...["machine", "slots"].map((name) => `test/schedule/${name}.test.ts`),
  "test/stonith/machine",
  "test/drivers/",
  ...["call", "memory", "swap"].map((name) => `test/stores/${name}.test.ts`),
  "test/patches.test.ts",
  "test/sources.test.ts",
  "test/tidy.test.ts",
  "test/package.test.ts",
  "test/imports.test.ts",
  "test/docs.test.ts",
];
/** Their output is shown as it comes; that of the others when they have ended. */
const ALOUD = new Set(["build", "servers", "tests"]);
const SLOW_SHOWN = 12;
const LINES_SHOWN = 40;
/** What `--quick` promises (CONTRIBUTING.md), on two cores that do nothing else. */
const QUICK_SECONDS_MAX = 120;
/** If more files fail than these, it is no accident of a busy machine. */
const AGAIN_MAX = 6;

/** @typedef {readonly [name: string, command: readonly string[]]} Stage */

/** Lists of stages that run side by side, after the build. The later ones get what processor time the first leaves. @typedef {readonly (readonly Stage[])[]} Lanes */

/** @type {Stage} */
const BUILD = ["build", npm("build")];
/** @type {Lanes} */
const WHOLE = [
  [
    ["servers", npm("test:servers")],
    ["tests", vitest],
    ["defences", npm("test:defences")],
    ["package", npm("test:package")],
  ],
  [
    ["hunt", npm("test:hunt")],
    ["mutants", npm("test:mutants")],
  ],
];
/** @type {Lanes} */
const SHORT = [[["tests", [...vitest, ...QUICK]]], [["hunt", npm("test:hunt:quick")]]];

const exitCode = await main(process.argv.slice(2));
if (exitCode !== 0) process.exitCode = exitCode;

/** @param {readonly string[]} args */
async function main(args) {
  const isQuick = args.length === 1 && args[0] === "--quick";
  if (args.length > 0 && !isQuick) {
    process.stderr.write("usage: node scripts/test.mjs [--quick]\n");
    return 2;
  }
  try {
    const begunAt = performance.now();
    const times = await runAll(isQuick ? SHORT : WHOLE);
    const seconds = (performance.now() - begunAt) / 1000;
    tell(times, seconds);
    if (isQuick) tellBound(seconds);
    return times.every(({ isPassed }) => isPassed) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @typedef {{ name: string, seconds: number, isPassed: boolean, said: string, flaky: string[] | undefined }} Time */

/** @param {Lanes} lanes @returns {Promise<Time[]>} */
async function runAll(lanes) {
  /** @type {Time[]} */
  const times = [];
  const hasFailed = () => times.some(({ isPassed }) => !isPassed);
  const lane = async (/** @type {readonly Stage[]} */ stages, /** @type {number} */ index) => {
    for (const [name, command] of stages) {
      if (hasFailed()) return;
      const begunAt = performance.now();
      const ended = await (ALOUD.has(name) ? runAloud(command) : runQuietly(name, command, index > 0));
      const { isPassed, said, flaky } = name === "tests" && !ended.isPassed ? await testAgain(ended) : ended;
      times.push({ name, seconds: (performance.now() - begunAt) / 1000, isPassed, said, flaky });
    }
  };
  await lane([BUILD], 0);
  await Promise.all(lanes.map(lane));
  return times;
}

/**
 * A test of real time may fail because so much ran beside it. A few files that failed run once more, one by one. If they pass, that is said loudly, since it is
 * a fault of those tests, but the change is not held up.
 * @param {Ended} first @returns {Promise<Ended>}
 */
async function testAgain(first) {
  const files = failedFiles();
  if (files.length === 0 || files.length > AGAIN_MAX) return first;
  process.stdout.write(`\nfailed beside many others, and run once more: ${files.join(", ")}\n`);
  const { isPassed } = await runAloud([...VITEST, "--maxWorkers=1", ...files]);
  return isPassed ? { isPassed, said: "", flaky: failedTests() } : first;
}

/** @typedef {{ isPassed: boolean, said: string, flaky?: string[] | undefined }} Ended */

/** @param {readonly string[]} line @returns {Promise<Ended>} */
function runAloud([command = "", ...args]) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit" });
  return new Promise((resolve) => {
    child.on("error", ({ message }) => resolve({ isPassed: false, said: message }));
    child.on("close", (status) => resolve({ isPassed: status === 0, said: "its output stands above" }));
  });
}

/** @param {string} name @param {readonly string[]} line @param {boolean} isBeside at the lowest priority @returns {Promise<Ended>} */
function runQuietly(name, line, isBeside) {
  const isNice = isBeside && process.platform !== "win32";
  const [command = "", ...args] = isNice ? ["nice", "-n", "19", ...line] : line;
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (said += text));
  return new Promise((resolve) => {
    child.on("error", (error) => (said += error.message));
    child.on("close", (status) => {
      process.stdout.write(`\n${name}: ${status === 0 ? "passed" : "FAILED"}\n${said}\n`);
      resolve({ isPassed: status === 0, said });
    });
  });
}

/** @param {readonly Time[]} times @param {number} total */
function tell(times, total) {
  const row = (/** @type {string} */ name, /** @type {number} */ seconds, note = "") =>
    process.stdout.write(`  ${name.padEnd(10)}${seconds.toFixed(1).padStart(8)} s${note}\n`);
  process.stdout.write("\nwhere the time went (build first, then side by side)\n");
  for (const { name, seconds, isPassed } of times) {
    row(name, seconds, isPassed ? "" : "   FAILED");
    if (name === "tests") tellSlowest();
  }
  row("together", total);
  for (const { name, said } of times.filter(({ isPassed }) => !isPassed)) tellFailures(name, said);
  for (const line of times.flatMap(({ flaky = [] }) =>
    flaky.length === 0 ? [] : ["", "FLAKY: failed beside many others, passed when run once more", ...flaky],
  ))
    process.stdout.write(`${line}\n`);
}

/** A warning and no failure: the machine may be busy. @param {number} seconds */
function tellBound(seconds) {
  const took = `--quick took ${seconds.toFixed(0)} s of the ${QUICK_SECONDS_MAX} s that it promises on two cores`;
  const isLate = seconds > QUICK_SECONDS_MAX;
  process.stdout.write(isLate ? `\nSLOW: ${took}; if nothing else ran, find out what became slower\n` : `\n${took}\n`);
}

/** Once more at the end, where somebody who reads only the last lines sees them. @param {string} name @param {string} said */
function tellFailures(name, said) {
  const lines = name === "tests" ? failedTests() : said.trimEnd().split("\n").slice(-LINES_SHOWN);
  process.stdout.write(`\n${name} FAILED\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/**
 * @typedef {{ fullName: string, status: string, failureMessages: string[] }} Test
 * @typedef {{ name: string, status: string, message: string, startTime: number, endTime: number, assertionResults: Test[] }} TestFile
 *
 * @returns {TestFile[]} none: Vitest did not get far enough to write its report
 */
function testFiles() {
  try {
    return JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    return [];
  }
}

/** @returns {string[]} paths in the repository */
function failedFiles() {
  return testFiles()
    .filter(({ status }) => status === "failed")
    .map(({ name }) => path.relative(root, name));
}

/** @returns {string[]} each test that failed, with the first lines of why */
function failedTests() {
  return testFiles()
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, message, assertionResults }) => [
      `${path.relative(root, name)}  ${message.split("\n", 1)[0]}`,
      ...assertionResults
        .filter(({ status }) => status === "failed")
        .flatMap(({ fullName, failureMessages }) => [
          `  ${fullName}`,
          ...failureMessages.flatMap((text) => text.split("\n").slice(0, 6)).map((line) => `    ${line}`),
        ]),
    ]);
}

/** The test files that took longest, several of which run at once. */
function tellSlowest() {
  const slowest = testFiles()
    .map(({ name, startTime, endTime }) => ({ name: path.relative(root, name), seconds: (endTime - startTime) / 1000 }))
    .toSorted((a, b) => b.seconds - a.seconds);
  for (const { name, seconds } of slowest.slice(0, SLOW_SHOWN))
    process.stdout.write(`  ${"".padEnd(10)}${seconds.toFixed(1).padStart(8)} s   ${name}\n`);
}
