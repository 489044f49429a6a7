// Executes the will of a dead supervisor: opens its store again and ends its session, so that others need not wait for the ttl. Started by the keeper,
// after the child is gone. Reads the will from stdin. Exits 0 if the store said that nothing of it stands any more.
//
// src/keeper/will.ts says why that ends nothing else. A store that keeps record by record has no session to end: there the will is executed
// again after a request's time, for the renewal that was under way.
import { text } from "node:stream/consumers";
import { asBid, type Store, type Will } from "../stores/contract.ts";
import { openStore } from "../drivers/open-store.ts";
import { executeWill, WILL_TIMEOUT_MS } from "../keeper/will.ts";
import type { Estate } from "./keeper-words.ts";

async function main(): Promise<number> {
  const { url, session, holds } = JSON.parse(await text(process.stdin)) as Estate;
  const store = await openStore(url);
  const will = { session, holds: holds.map(({ name, bid }) => ({ name, bid: asBid(bid) })), endSession: true };
  const isDone = await execute(store, will);
  if (isDone && store.guarantee.keep === "per-hold") {
    await new Promise((resolve) => setTimeout(resolve, WILL_TIMEOUT_MS));
    await execute(store, will);
  }
  return isDone ? 0 : 1;
}

async function execute(store: Store, will: Will): Promise<boolean> {
  const why = await executeWill(store, will);
  if (why !== undefined) report(why);
  return why === undefined;
}

function report(why: string): void {
  process.stderr.write(`conclave keeper: the term could not be given back (${why}); it ends with its ttl\n`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    report(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
