// @ts-check
// A candidate in a process of its own, for tests that kill, stop and resign it. Says what happens on stdout, a JSON object a line, with the clock that
// all processes share; obeys "resign", "stand" (again) and "close" on stdin. With `log` it also writes what the judge reads (src/testing/judge.ts).
//   argument: { modules, path | store, id, ttlMs, drainMs?, holdMs?, log? }      store: a URL; holdMs: resigns by itself after that long, and stands again
import { openSync, writeSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const options = JSON.parse(process.argv[2] ?? "{}");
const { createCandidate, openStore } = await import(pathToFileURL(path.join(options.modules, "index.js")).href);

const log = options.log === undefined ? undefined : openSync(options.log, "a");
const candidate = createCandidate({
  store: await openStore(options.store ?? `sqlite:${encodeURI(options.path)}`),
  id: options.id,
  ttlMs: options.ttlMs,
  drainMs: options.drainMs,
});
candidate.subscribe((/** @type {any} */ event) => {
  if (event.type === "leader" || event.type === "lost")
    say(event.type, { leader: event.leader?.candidate, reason: event.reason });
  if (event.type === "error") say("error", { code: event.error.code, message: event.error.message });
});
const election = candidate.election("x");
let resign = () => {};
let stand = () => {};
let closing = false;
const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.exit(0)); // the test is gone
commands.on("line", (line) => {
  if (line === "close") {
    closing = true;
    void candidate.close().then(() => process.exit(0));
  } else if (line === "stand") stand();
  else resign();
});

while (!closing) {
  await election
    .lead(work)
    .catch((/** @type {any} */ error) => say("failed", { code: error.code, message: error.message }));
  say("released", {});
  // In a race whoever is nearest wins: stands back, so that another is elected.
  await new Promise((resolve) => {
    stand = () => resolve(undefined);
    if (options.holdMs !== undefined) setTimeout(resolve, 50);
  });
}

/** @param {any} term */
async function work(term) {
  note("begin", term);
  say("elected", { token: `${term.token.value}`, domain: term.token.domain });
  const acts = setInterval(() => note("act", term), 2);
  await new Promise((resolve) => {
    resign = () => resolve(undefined);
    term.signal.addEventListener("abort", resolve);
    if (options.holdMs !== undefined) setTimeout(resolve, options.holdMs);
  });
  clearInterval(acts);
  note("end", term);
  say("resigned", {});
}

/** The stamp is read before the term says that it is held. */
function note(/** @type {string} */ what, /** @type {any} */ term) {
  const at = nowMs();
  if (log !== undefined && term.isHeld()) writeSync(log, `${at} ${options.id} ${what} ${term.token.value}\n`);
}

function say(/** @type {string} */ event, /** @type {object} */ more) {
  process.stdout.write(`${JSON.stringify({ at: nowMs(), event, ...more })}\n`);
}

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
