// Executes the will of a dead supervisor: opens its store again and ends its session, so that others need not wait for the ttl. Started by the keeper,
// after the child is gone. Reads the will from stdin. Exits 0 if the store said that nothing of it stands any more.
//
// Conditioned on session and bid, never on version (G5): a renewal of the dead that is still under way may move the version, and must not save it. It
// ENDS the session: whatever of it arrives later is refused. A store that keeps record by record has no session to end: there the will is executed
// again after a request's time, for the renewal that was under way.
import { text } from "node:stream/consumers";
import { asBid } from "../stores/contract.ts";
import { openStore } from "../stores/open-store.ts";
import type { Estate } from "./keeper-words.ts";

const TIMEOUT_MS = 4000;

const { url, session, holds }: Estate = JSON.parse(await text(process.stdin));
const store = await openStore(url);
const will = { session, holds: holds.map(({ name, bid }) => ({ name, bid: asBid(bid) })), endSession: true };

async function execute(): Promise<boolean> {
  const [seconds, nanoseconds] = process.hrtime();
  const sentAtMs = seconds * 1000 + nanoseconds / 1e6;
  const released = await store.release(will, { signal: AbortSignal.timeout(TIMEOUT_MS), sentAtMs });
  if (released.kind === "released") return true;
  process.stderr.write(`conclave keeper: the term could not be given back (${released.kind}); it ends with its ttl\n`);
  return false;
}

const isDone = await execute();
if (isDone && store.guarantee.keep === "per-hold") {
  await new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS));
  await execute();
}
process.exit(isDone ? 0 : 1);
