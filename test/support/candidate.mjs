// @ts-check
// A candidate in a process of its own, for tests that kill, stop, block and resign it. Says what happens on stdout, a JSON object a line, with the clock
// that all processes share. With `log` it also writes what the judge reads (src/testing/judge.ts); with `ledger` its first act in each term is a write
// that a fence has to admit.
//   argument   { modules, path | store, id, ttlMs, drainMs?, renewal?, stallAfterMs?, onOverstay?, holdMs?, busyMs?, log?, ledger?, stubborn?, unfenced?, keeper?, child? }
//                store      a URL, rather than the path of a file
//                holdMs     resigns by itself after that long, and stands again
//                busyMs     its work begins with so long a stretch in which the loop does not turn
//                stubborn   its work never ends, whatever the signal says
//                unfenced   the store is taken for one that has no tokens, or has none; the log then has the microsecond of a term's beginning in the place of a token
//                child      its work begins by starting a process that appends the time to this file every few milliseconds, for as long as it lives
//   stdin      resign · stand (again) · close · block MS (the event loop, in the midst of the work) · spin MS (the same, asking all the time whether it
//              leads) · write (once more) · time (of the wall clock)
import { spawn } from "node:child_process";
import { openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const options = JSON.parse(process.argv[2] ?? "{}");
const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(options.modules, `${name}.js`)).href);
const { createCandidate, formatToken, openStore } = await load("index");
const { sqliteFence } = await load("fencing");

/** @type {WeakMap<object, number>} */
const numbers = new WeakMap();
const log = options.log === undefined ? undefined : openSync(options.log, "a");
const ledger = options.ledger === undefined ? undefined : openLedger(options.ledger);
const opened = await openStore(options.store ?? `sqlite:${encodeURI(options.path)}`);
const store = options.unfenced === true && opened.guarantee.fencing === "fenced" ? withoutTokens(opened) : opened;
const candidate = createCandidate({
  store,
  id: options.id,
  ttlMs: options.ttlMs,
  drainMs: options.drainMs,
  renewal: options.renewal,
  stallAfterMs: options.stallAfterMs,
  onOverstay: options.onOverstay,
  keeper: options.keeper,
  ...(options.unfenced === true ? { unfenced: true } : {}),
});
candidate.subscribe((/** @type {any} */ event) => {
  if (event.type === "leader" || event.type === "lost" || event.type === "overstayed")
    say(event.type, { leader: event.leader?.candidate, reason: event.reason });
  if (event.type === "error") say("error", { code: event.error.code, message: event.error.message });
});
const election = candidate.election(options.name ?? "x");
let resign = () => {};
let stand = () => {};
/** @type {any} the present term */
let present;
let closing = false;
const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.exit(0)); // the test is gone
commands.on("line", (line) => {
  const [command, argument] = line.split(" ");
  if (command === "close") {
    closing = true;
    void candidate
      .close()
      .then(() => store.close())
      .then(() => process.exit(0));
  } else if (command === "stand") stand();
  else if (command === "block") block(Number(argument));
  else if (command === "spin") spin(Number(argument));
  else if (command === "write") write(present);
  else if (command === "time") say("time", { wall: Date.now() });
  else resign();
});

while (!closing) {
  await election
    .lead(work)
    .catch((/** @type {any} */ error) => say("failed", { code: error.code, message: error.message }));
  say("released", {});
  // In a race the nearest candidate wins: this one stands back, so that another is elected.
  await new Promise((resolve) => {
    stand = () => resolve(undefined);
    if (options.holdMs !== undefined) setTimeout(resolve, 50);
  });
}

/** @param {any} term */
async function work(term) {
  present = term;
  note("begin", term);
  say("elected", term.token === undefined ? {} : { token: `${term.token.value}`, domain: term.token.domain });
  if (options.child !== undefined) startChild(options.child);
  if (options.busyMs !== undefined) block(options.busyMs);
  if (ledger !== undefined) write(term);
  const acts = setInterval(() => note("act", term), 2);
  await new Promise((resolve) => {
    if (options.stubborn === true) return;
    // On a busy machine the term may be over before the work has come this far.
    if (term.signal.aborted) return resolve(undefined);
    resign = () => resolve(undefined);
    term.signal.addEventListener("abort", resolve);
    if (options.holdMs !== undefined) setTimeout(resolve, options.holdMs);
  });
  clearInterval(acts);
  note("end", term);
  say("resigned", {});
}

/** The stamp is read before the term says that it is held. Several processes may have one id. */
function note(/** @type {string} */ what, /** @type {any} */ term) {
  const at = nowMs();
  if (log !== undefined && term.isHeld())
    writeSync(log, `${at} ${options.id}/${process.pid} ${what} ${term.token?.value ?? numberOf(term)}\n`);
}

/** @param {object} term */
function numberOf(term) {
  const number = numbers.get(term) ?? Math.round(nowMs() * 1000);
  numbers.set(term, number);
  return number;
}

/** No timer and no I/O comes between the end of the blockade and the question. */
function block(/** @type {number} */ ms) {
  const until = nowMs() + ms;
  while (nowMs() < until);
  const { signal } = present;
  const before = signal.aborted;
  note("act", present);
  const held = present.isHeld();
  say("unblocked", { held, aborted: [before, signal.aborted], reason: signal.reason?.reason });
}

/** Acts whenever it is told that it leads, and the loop never turns. */
function spin(/** @type {number} */ ms) {
  const until = nowMs() + ms;
  while (nowMs() < until) {
    const next = nowMs() + 2;
    note("act", present);
    while (nowMs() < next);
  }
  const held = present.isHeld();
  say("spun", { held, reason: present.signal.reason?.reason });
}

/** In a session of its own, as a dump or a converter may be. */
function startChild(/** @type {string} */ file) {
  const script = `const { appendFileSync } = require("node:fs"); setInterval(() => { const [s, n] = process.hrtime(); appendFileSync(${JSON.stringify(file)}, s * 1000 + n / 1e6 + "\\n"); }, 5)`;
  const child = spawn(process.execPath, ["-e", script], { stdio: "ignore", detached: true });
  say("child", { pid: child.pid });
}

/** One fenced write, asked for whether or not the term is still held: the fence decides. */
function write(/** @type {any} */ term) {
  try {
    ledger?.(term);
    say("wrote", { token: `${term.token.value}` });
  } catch (error) {
    const { code, message } = /** @type {any} */ (error);
    say("refused", { code, message });
  }
}

/** @param {string} file @returns {(term: any) => void} */
function openLedger(file) {
  const fence = sqliteFence();
  const database = new (loadDatabase())(file);
  database.exec("PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL");
  database.exec(`${fence.schema()} CREATE TABLE IF NOT EXISTS entry (token TEXT, by TEXT)`);
  const insert = database.prepare("INSERT INTO entry VALUES (?, ?)");
  return (term) => {
    database.exec("BEGIN IMMEDIATE");
    try {
      fence.admit(database, "ledger", term);
      insert.run(formatToken(term.token), options.id);
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };
}

/** By the binding that the store itself would choose (by-hand.ts says why). @returns {any} */
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

/** @param {any} store */
function withoutTokens(store) {
  const guarantee = { ...store.guarantee, fencing: "unfenced" };
  const methods = ["keep", "claim", "release", "look", "watch", "close"];
  return { guarantee, ...Object.fromEntries(methods.map((name) => [name, store[name].bind(store)])) };
}

function say(/** @type {string} */ event, /** @type {object} */ more) {
  process.stdout.write(`${JSON.stringify({ at: nowMs(), event, ...more })}\n`);
}

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
