// Rows in SQLite that two leaders write, the old one late. First without a guard, then with one: each transaction begins with fence.admit, which refuses
// an older token and keeps other writers out until commit.
// Needs a binding: node:sqlite (Node 22.13 and later), or npm install libsql, or npm install better-sqlite3.
//
//   npm run build && node examples/fenced-sqlite/main.mjs
import { createRequire } from "node:module";
import { createCandidate } from "conclave";
import { sqliteFence } from "conclave/fencing";
import { memory } from "conclave/stores/memory";

/** The first binding that is there. @returns {import("conclave/fencing").SqliteConnection} */
function openDatabase() {
  const require = createRequire(import.meta.url);
  for (const name of ["node:sqlite", "libsql", "better-sqlite3"]) {
    try {
      const binding = require(name);
      return new (binding.DatabaseSync ?? binding)(":memory:");
    } catch {
      continue;
    }
  }
  throw new Error("no SQLite here: use Node 22.13 or later, or npm install libsql");
}

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const old = await first.election("owner").campaign();
await old.resign(); // or its lease ran out while it was stopped
const successor = await second.election("owner").campaign();

const db = openDatabase();
const fence = sqliteFence();
db.exec(`${fence.schema()} CREATE TABLE owner (name TEXT); INSERT INTO owner VALUES ('nobody')`);
const owner = () => /** @type {{ name: string }} */ (db.prepare("SELECT name FROM owner").all()[0]).name;

/** @param {string} name @param {import("conclave").Fenced} [term] */
function setOwner(name, term) {
  db.exec("BEGIN IMMEDIATE");
  try {
    if (term) fence.admit(db, "owner", term);
    db.prepare("UPDATE owner SET name = ?").run(name);
    db.exec("COMMIT");
    return "written";
  } catch (error) {
    db.exec("ROLLBACK");
    return /** @type {{ code: string }} */ (error).code;
  }
}

setOwner("successor");
setOwner("old leader"); // late
const unfenced = owner();
console.log(`without a fence: ${unfenced}`);

fence.raise(db, "owner", successor); // before it reads
setOwner("successor", successor);
const late = setOwner("old leader", old);
const fenced = owner();
console.log(`with a fence:    ${fenced}; the late write: ${late}`);

await Promise.all([first.close(), second.close()]);
if (unfenced !== "old leader" || fenced !== "successor" || late !== "TOKEN_STALE") process.exitCode = 1;
