// Leaving in order, beside an HTTP server: on SIGTERM the term's signal aborts, the work stops, the seat is given back, and only then does `lead` resolve. Work that does
// not stop in time ends the process (`onOverstay: "exit"`), because another process may lead by then. A process that has not ended after 8 s, because something was
// forgotten, says what keeps it alive, and ends.
//
//   npm run build && node examples/shutdown/main.mjs
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const server = createServer((_request, response) => void response.end("ok\n")).listen(0, "127.0.0.1");
const election = elect("worker", {
  store,
  drainMs: 2_000,
  onOverstay: "exit",
  logger: { ...console, info() {}, debug() {} },
});
try {
  // Rejects only with an error of the work's own; that it stops by throwing `signal.reason` is not one.
  await election.lead((term) => work(term.signal), { signal: shutdownSignal({ exitWithinMs: 8_000 }) });
  console.log("the seat is given back");
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  server.close();
  await election.close();
}

/** @param {AbortSignal} signal */
async function work(signal) {
  console.log("at work");
  for (;;) await sleep(1_000, undefined, { signal });
}
