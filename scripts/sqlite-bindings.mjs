// @ts-check
// The bindings for SQLite that each Node can have, to run the conformance suite of sqlite: on all of them.
//   node:sqlite      comes with Node 22.13 and later
//   libsql           as installed here: one binary for every Node
//   better-sqlite3   one for each Node, which npm downloads or compiles. Compiled without optimising (20 s instead of 60), all at once, and kept
//                    (scripts/cached.mjs). Where there is neither a binary nor a compiler that is said, and it is not tried
import { spawn, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cached } from "./cached.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const BETTER = "12.9.0";

/** Run with the name of a binding. For better-sqlite3, SQLite itself says which statements it ran (sqlite3_trace_v2). */
export const SUITE = `
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { VACANT } from "conclave/stores/contract";
import { storeConformance } from "conclave/testing";
import { sqlite } from "conclave/stores/sqlite";
const binding = process.argv[2];
let files = 0;
const newFile = () => "suite-" + process.pid + "-" + ++files + ".db";
const cases = storeConformance(async () => sqlite(newFile(), { binding }));
for (const { name, run } of cases)
  await run().catch((cause) => {
    throw new Error(binding + ": " + name, { cause });
  });
let traced = "";
if (binding === "better-sqlite3") {
  const ran = [];
  const Database = createRequire(import.meta.url)(binding);
  const store = sqlite(new Database(newFile(), { verbose: (sql) => ran.push(sql.trim()) }));
  const call = () => ({ signal: new AbortController().signal, sentAtMs: 0 });
  const { session } = await store.keep({ nonce: "n", candidate: "c", ttlMs: 60_000 }, [], call());
  const names = Array.from({ length: 10_000 }, (_, index) => "x" + index);
  const claims = names.map((name, index) => ({ session, name, bid: "n." + index, over: VACANT, value: "" }));
  const holds = (await store.claim(claims, call())).map(({ hold }) => hold);
  ran.length = 0;
  assert.equal((await store.keep(session, holds, call())).kind, "kept");
  const writing = ran.filter((sql) => /^(?:INSERT|UPDATE|DELETE|REPLACE)/i.test(sql));
  assert.equal(writing.length, 1, ran.join("; "));
  traced = "; by SQLite's own trace 10,000 terms are renewed by one writing statement of " + ran.length + " in all";
  await store.close();
}
console.log(process.version + ": " + cases.length + " conformance cases on sqlite: with " + binding + traced);
`;

/** `modules`: where Node finds the binding. @typedef {{ node: string, binding: string, modules: string }} Trial */

/** @param {readonly string[]} nodes paths of Nodes @returns {Promise<Trial[]>} */
export async function bindingsFor(nodes) {
  const trials = await Promise.all(nodes.map(trialsOf));
  return trials.flat();
}

/** @param {string} node @returns {Promise<Trial[]>} */
async function trialsOf(node) {
  const better = await betterFor(node);
  return [
    ...(hasOwn(node) ? [{ node, binding: "node:sqlite", modules: "" }] : []),
    { node, binding: "libsql", modules: path.join(root, "node_modules") },
    ...(better === undefined ? [] : [{ node, binding: "better-sqlite3", modules: better }]),
  ];
}

/** @param {string} node */
function hasOwn(node) {
  return spawnSync(node, ["-e", "require('node:sqlite')"], { stdio: "ignore" }).status === 0;
}

/** @param {string} node @returns {Promise<string | undefined>} the folder with better-sqlite3, installed now or before */
async function betterFor(node) {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
  try {
    const name = `better-sqlite3-${BETTER}-${version}-${process.platform}-${process.arch}`;
    return path.join(await cached(name, (folder) => installBetter(node, folder)), "node_modules");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stdout.write(`${version}: better-sqlite3 is not tried, since it cannot be installed here: ${why}\n`);
    return undefined;
  }
}

/** @param {string} node @param {string} folder */
async function installBetter(node, folder) {
  writeFileSync(path.join(folder, "package.json"), `{ "private": true }\n`);
  const home = path.dirname(path.dirname(node));
  const headers = existsSync(path.join(home, "include/node/node.h")) ? { npm_config_nodedir: home } : {};
  const env = {
    ...process.env,
    ...headers,
    CFLAGS: "-O0",
    CXXFLAGS: "-O0",
    PATH: `${path.dirname(node)}${path.delimiter}${process.env["PATH"] ?? ""}`,
  };
  const args = ["install", "--silent", "--no-audit", "--no-fund", `better-sqlite3@${BETTER}`];
  const problem = await ended(spawn("npm", args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] }));
  if (problem !== undefined) throw new Error(problem);
}

/**
 * @param {import("node:child_process").ChildProcessByStdio<null, import("node:stream").Readable, import("node:stream").Readable>} child
 * @returns {Promise<string | undefined>} what it said last if it failed
 */
function ended(child) {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status) => resolve(status === 0 ? undefined : (said.trim().split("\n").at(-1) ?? "npm failed")));
  });
}
