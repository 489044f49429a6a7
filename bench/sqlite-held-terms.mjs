// @ts-check
// Ten thousand held terms of one candidate on sqlite:, over several renewals: statements per renewal, and share of a core. Statements are counted where they
// reach the binding; one renewal is one transaction, in which one statement writes, however many terms there are.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";

const TERMS = 10_000;
const WATCH_MS = 20_000;

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-held-"));
  try {
    return await measure(path.join(folder, "conclave.db"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} file */
async function measure(file) {
  /** @type {string[]} */
  const ran = [];
  const candidate = createCandidate({ store: sqlite(counting(file, ran)), ttlMs: 15_000 });
  const begun = performance.now();
  const names = Array.from({ length: TERMS }, (_, index) => `tenant/${index}`);
  const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
  const acquired = performance.now() - begun;
  await sleep(1000);
  ran.length = 0;
  const cpu = process.cpuUsage();
  await sleep(WATCH_MS);
  const used = process.cpuUsage(cpu);
  if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
  const renewals = ran.filter((sql) => sql.startsWith("COMMIT")).length;
  const writing = ran.filter((sql) => /^(?:INSERT|UPDATE|DELETE)/.test(sql)).length;
  const inside = ran.filter((sql) => !sql.startsWith("PRAGMA")).length;
  await candidate.close();
  return [
    { name: "10,000 terms on sqlite:, share of a core", value: share(used), unit: "%", goal: "" },
    { name: `writing statements per renewal (of ${renewals})`, value: writing / renewals, unit: "", goal: "≤ 1" },
    { name: "statements per renewal, BEGIN and COMMIT included", value: inside / renewals, unit: "", goal: "" },
    { name: "10,000 elections won in one go on sqlite:", value: acquired, unit: "ms", goal: "" },
  ];
}

/** @param {NodeJS.CpuUsage} used */
function share({ user, system }) {
  return ((user + system) / 1000 / WATCH_MS) * 100;
}

/** A database that notes each statement as it is run. @param {string} file @param {string[]} ran @returns {any} */
function counting(file, ran) {
  const database = new (loadDatabase())(file);
  const note = (/** @type {string} */ sql) => void ran.push(sql.trim());
  return {
    exec: (/** @type {string} */ sql) =>
      (note(sql), database.exec(sql)),
    prepare: (/** @type {string} */ sql) => {
      const statement = database.prepare(sql);
      return {
        all: (/** @type {any[]} */ ...values) =>
          (note(sql), statement.all(...values)),
        run: (/** @type {any[]} */ ...values) =>
          (note(sql), statement.run(...values)),
      };
    },
  };
}

/** The binding that the store itself would choose. @returns {any} */
function loadDatabase() {
  const require = createRequire(import.meta.url);
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
