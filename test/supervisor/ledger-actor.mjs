// @ts-check
// As actor.mjs, but what it does is a row in a ledger that is guarded by a fence: only what was admitted counts as an act. What was refused is written too, as
// `MILLISECONDS ID refused TOKEN` to a file of its own. Reads no clock of a term and asks nobody.
//   arguments: LOG MODULES LEDGER REFUSALS
import { openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [, , log = "", modules = "", ledger = "", refusals = ""] = process.argv;
const { parseToken, sqliteFence } = await import(pathToFileURL(path.join(modules, "fencing/index.js")).href);
const { CONCLAVE_ID: id = "", CONCLAVE_TOKEN: token = "", CONCLAVE_FENCE: text = "" } = process.env;
const by = { token: parseToken(text) };

const file = openSync(log, "a");
const refused = openSync(refusals, "a");
const db = open(ledger);
db.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 10000");
const fence = sqliteFence();
db.exec(`${fence.schema()} CREATE TABLE IF NOT EXISTS ledger (token TEXT NOT NULL)`);

act("begin");
setInterval(() => act("act"), 2);
process.on("SIGTERM", () => process.exit(0));

/** @param {string} what */
function act(what) {
  const at = nowMs();
  db.exec("BEGIN IMMEDIATE");
  try {
    fence.admit(db, "ledger", by);
    db.prepare("INSERT INTO ledger (token) VALUES (?)").run(token);
    db.exec("COMMIT");
    writeSync(file, `${at} ${id} ${what} ${token}\n`);
  } catch (error) {
    db.exec("ROLLBACK");
    writeSync(refused, `${nowMs()} ${id} refused ${token} ${/** @type {{ code?: string }} */ (error).code}\n`);
  }
}

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** @param {string} name */
function open(name) {
  const require = createRequire(import.meta.url);
  try {
    return new (require("node:sqlite").DatabaseSync)(name);
  } catch {
    return new (require("libsql"))(name);
  }
}
