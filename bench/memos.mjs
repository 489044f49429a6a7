// @ts-check
// Memos on memory: and sqlite:, beside a bare conditional write of one row, as durable as ours: BEGIN IMMEDIATE, an UPDATE over the version that is known, COMMIT. One key, one write after
// the other, in one run and in turns, on the same disk. Only ours checks who holds the seat.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";
import { sqlite } from "conclave/stores/sqlite";

const WARM = 1_000;
const ROUNDS = 1_000;
const TURNS = 25;

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-memos-"));
  try {
    return await measure(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
async function measure(folder) {
  const candidates = [
    createCandidate({ store: memory(), ttlMs: 15_000 }),
    createCandidate({ store: sqlite(path.join(folder, "conclave.db")), ttlMs: 15_000 }),
  ];
  const [inMemory, inFile] = await Promise.all(candidates.map((each, index) => each.election(`x${index}`).campaign()));
  const bare = bareWrite(path.join(folder, "bare.db"));
  let written = 0;
  const writes = {
    memory: () => inMemory?.memo("k", `${++written}`),
    sqlite: () => inFile?.memo("k", `${++written}`),
    bare,
  };
  /** @type {Record<keyof typeof writes, number>} */
  const spentMs = { memory: 0, sqlite: 0, bare: 0 };
  const names = /** @type {(keyof typeof writes)[]} */ (Object.keys(writes));
  for (const name of names)
    for (let round = 0; round < WARM; round++) {
      await writes[name]();
      if (round % 40 === 0) await turn();
    }
  for (let count = 0; count < TURNS; count++)
    for (const name of names) {
      const begun = performance.now();
      for (let round = 0; round < ROUNDS / TURNS; round++) await writes[name]();
      spentMs[name] += performance.now() - begun;
      await turn();
    }
  await Promise.all(candidates.map((each) => each.close({ drainMs: 0 })));
  const rate = (/** @type {keyof typeof writes} */ name) => (ROUNDS / spentMs[name]) * 1000;
  return [
    { name: "memos on memory:, 1 key", value: rate("memory"), unit: "ops/s", goal: "" },
    { name: "memos on sqlite:, 1 key (one synced commit)", value: rate("sqlite"), unit: "ops/s", goal: "" },
    { name: "bare conditional write in SQLite (one synced commit)", value: rate("bare"), unit: "ops/s", goal: "" },
    {
      name: "memos on sqlite: over a bare conditional write",
      value: rate("sqlite") / rate("bare"),
      unit: "×",
      goal: "",
    },
  ];
}

/** On memory: nothing else lets the event loop turn, and renewals need that. @returns {Promise<void>} */
function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** @param {string} file @returns {() => Promise<void>} */
function bareWrite(file) {
  const require = createRequire(import.meta.url);
  /** It has no types here. @type {new (file: string) => { exec(sql: string): void, prepare(sql: string): { run(...values: unknown[]): unknown } }} */
  const Database = require("libsql");
  const database = new Database(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(
    "CREATE TABLE memo (key TEXT PRIMARY KEY, value TEXT, version INTEGER); INSERT INTO memo VALUES ('k', '', 0)",
  );
  const update = database.prepare("UPDATE memo SET value = ?, version = version + 1 WHERE key = 'k' AND version = ?");
  let version = 0;
  return async () => {
    database.exec("BEGIN IMMEDIATE");
    update.run(`${version}`, version);
    database.exec("COMMIT");
    version++;
  };
}
