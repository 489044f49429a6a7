// @ts-check
// Another program that locks the database of a test, so that nobody can even open it: says `locked`, and lets go when its stdin ends.
//   arguments: FILE
import { createRequire } from "node:module";

const [, , file = ""] = process.argv;
const db = open(file);
db.exec("PRAGMA busy_timeout = 10000; PRAGMA locking_mode = EXCLUSIVE");
db.exec("BEGIN EXCLUSIVE; CREATE TABLE locked_by_a_test (empty)");
process.stdout.write("locked\n");
process.stdin.resume().on("end", () => {
  db.exec("ROLLBACK");
  db.close();
});

/** @param {string} name */
function open(name) {
  const require = createRequire(import.meta.url);
  try {
    return new (require("node:sqlite").DatabaseSync)(name);
  } catch {
    return new (require("libsql"))(name);
  }
}
