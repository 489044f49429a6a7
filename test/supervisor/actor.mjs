// @ts-check
// The command of a test's `conclave run`: writes what the judge reads (src/testing/judge.ts) for as long as it lives. It asks nobody whether it may: what is
// judged is whether it was ended in time.
//   arguments: LOG [stubborn]        stubborn: does not obey SIGTERM
import { openSync, writeSync } from "node:fs";

const [, , log = "", manner] = process.argv;
const file = openSync(log, "a");
const { CONCLAVE_ID: id = "", CONCLAVE_TOKEN: token = "" } = process.env;

/** @param {string} what */
function note(what) {
  const [seconds, nanoseconds] = process.hrtime();
  writeSync(file, `${seconds * 1000 + nanoseconds / 1e6} ${id} ${what} ${token}\n`);
}

process.on("SIGTERM", () => {
  if (manner === "stubborn") return;
  note("end");
  process.exit(0);
});
note("begin");
setInterval(() => note("act"), 2);
