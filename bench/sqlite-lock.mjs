// @ts-check
// withLock on sqlite:, beside what else takes a lock through a file: proper-lockfile (a folder that is made and removed; a stale one is waited for by the
// clock) and a bare SQLite transaction (excludes only while it is open, knows no ttl and no token). One name, one after the other, all in one run and in turns,
// on the same disk. Only the first two outlive the process that takes them; only the first has a token. Taken so often, the lock has its tokens in blocks: one claim of 64 waits for the disk (docs/adr/0095).
// "The fewest writes of a correct lock" is the floor: a ttl, a token and an end of the session are checked in the statement that takes the lock, and one row in one page is written to take it
// and to give it back. It has no list of what a session holds and of what has changed, no message to waiters, and no check that the file is the one that was opened.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";

const require = createRequire(import.meta.url);
/** It has no types. @type {{ lock(file: string, options: { realpath: boolean }): Promise<() => Promise<void>> }} */
const lockfile = require("proper-lockfile");
/** Until then the engine has not yet compiled all that runs in a lock: the first five hundred take half as long again as those of a process that runs on. */
const WARM = 2_000;
const ROUNDS = 500;
const TURNS = 25;

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-lock-"));
  try {
    return await measure(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
async function measure(folder) {
  const candidate = createCandidate({ store: sqlite(path.join(folder, "conclave.db")), ttlMs: 15_000 });
  const target = path.join(folder, "target");
  writeFileSync(target, "");
  const bare = bareTransaction(path.join(folder, "bare.db"));
  const locks = {
    conclave: () => candidate.withLock("x", async () => {}),
    lockfile: async () => {
      const release = await lockfile.lock(target, { realpath: false });
      await release();
    },
    fewest: fewestWrites(path.join(folder, "fewest.db")),
    bare,
  };
  /** @type {Record<keyof typeof locks, number>} */
  const spentMs = { conclave: 0, lockfile: 0, fewest: 0, bare: 0 };
  const names = /** @type {(keyof typeof locks)[]} */ (Object.keys(locks));
  for (const name of names) for (let round = 0; round < WARM; round++) await locks[name]();
  for (let turn = 0; turn < TURNS; turn++)
    for (const name of names) {
      const begun = performance.now();
      for (let round = 0; round < ROUNDS / TURNS; round++) await locks[name]();
      spentMs[name] += performance.now() - begun;
    }
  await candidate.close();
  const rate = (/** @type {keyof typeof locks} */ name) => (ROUNDS / spentMs[name]) * 1000;
  return [
    {
      name: "withLock on sqlite:, 1 name (two commits, of which one in 64 times one is synced)",
      value: rate("conclave"),
      unit: "ops/s",
      goal: "",
    },
    { name: "proper-lockfile, lock and unlock (no sync)", value: rate("lockfile"), unit: "ops/s", goal: "" },
    {
      name: "bare SQLite transaction with one write (one synced commit)",
      value: rate("bare"),
      unit: "ops/s",
      goal: "",
    },
    { name: "the fewest writes of a correct lock on SQLite", value: rate("fewest"), unit: "ops/s", goal: "" },
    { name: "withLock over proper-lockfile", value: rate("conclave") / rate("lockfile"), unit: "×", goal: "" },
    { name: "withLock over a bare transaction", value: rate("conclave") / rate("bare"), unit: "×", goal: "≥ 0.5" },
    { name: "the fewest writes over a bare transaction", value: rate("fewest") / rate("bare"), unit: "×", goal: "" },
  ];
}

/** BEGIN IMMEDIATE, a write, COMMIT, as durable as conclave's own. @param {string} file @returns {() => Promise<void>} */
function bareTransaction(file) {
  const database = new (loadDatabase())(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE held (name TEXT PRIMARY KEY, times INTEGER)");
  const write = database.prepare("INSERT INTO held VALUES ('x', 1) ON CONFLICT DO UPDATE SET times = times + 1");
  return async () => {
    database.exec("BEGIN IMMEDIATE");
    write.run();
    database.exec("COMMIT");
  };
}

/** A lock with a ttl and a token: taken in one statement that is synced, given back in one that is not. @param {string} file @returns {() => Promise<void>} */
function fewestWrites(file) {
  const database = new (loadDatabase())(file);
  database.exec("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(`
    CREATE TABLE session (id TEXT PRIMARY KEY NOT NULL, ttl INTEGER NOT NULL, ended INTEGER) STRICT, WITHOUT ROWID;
    INSERT INTO session VALUES ('s', 15000, NULL);
    CREATE TABLE seat (name TEXT PRIMARY KEY NOT NULL, session TEXT, bid TEXT NOT NULL, token INTEGER NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO seat VALUES ('x', NULL, '', 0, '')`);
  const take = database.prepare(
    "UPDATE seat SET session = ?, bid = ?, token = token + 1, value = ? WHERE name = 'x' AND session IS NULL AND bid <> ? AND EXISTS (SELECT 1 FROM session WHERE id = ? AND ended IS NULL) RETURNING token",
  );
  const give = database.prepare("UPDATE seat SET session = NULL WHERE name = 'x' AND session = ? AND bid = ?");
  let count = 0;
  return async () => {
    const bid = `bid.${++count}`;
    database.exec("PRAGMA synchronous = FULL");
    if (take.all("s", bid, "", bid, "s").length !== 1) throw new Error("the lock is not free");
    database.exec("PRAGMA synchronous = NORMAL");
    give.run("s", bid);
  };
}

/** The binding that the store itself would choose. @returns {any} */
function loadDatabase() {
  for (const name of ["node:sqlite", "better-sqlite3", "libsql"]) {
    try {
      const module = require(name);
      return module.DatabaseSync ?? module;
    } catch {
      // The next one, then.
    }
  }
  throw new Error("no binding for SQLite is installed");
}
