// Executes the will of a dead supervisor: opens its store again and ends its session, so that others need not wait for the ttl. The keeper starts it
// after the child is gone, or while the child runs: then the first line of stdin has the URL, and this process stands by (standby.ts). The rest of stdin is the will.
// Exits with 0 if the store said that nothing of the session stands any more, or if there was no will. It ignores signals that are meant for the supervisor.
//
// src/keeper/will.ts says why this ends no other session. A store that keeps record by record has no session to end: there the will is executed
// again after a request's time, because a renewal may have been under way.
import { asBid, type Store, type Will } from "../stores/contract.ts";
import { openStore, readyStore } from "../drivers/open-store.ts";
import { executeWill, WILL_TIMEOUT_MS } from "../keeper/will.ts";
import type { Estate } from "./keeper-messages.ts";

/** The modules that drivers load with their first request. They are loaded while this process stands by, so that nobody waits for them. */
const ASKED_FIRST = ["node:crypto", "node:http", "node:https", "node:net", "node:tls"] as const;

async function main(): Promise<number> {
  const said = await heard();
  if (said === "") return 0;
  const { url, session, holds } = JSON.parse(said) as Estate;
  const store = await openStore(url);
  const will = { session, holds: holds.map(({ name, bid }) => ({ name, bid: asBid(bid) })), endSession: true };
  const isDone = await execute(store, will);
  if (isDone && store.guarantee.keep === "per-hold") {
    await new Promise((resolve) => setTimeout(resolve, WILL_TIMEOUT_MS));
    await execute(store, will);
  }
  return isDone ? 0 : 1;
}

/**
 * The last line. A line before it is read as soon as it comes, and its store is loaded with its client. That opens no connection and is not needed:
 * what fails here fails again when the will is executed.
 */
async function heard(): Promise<string> {
  let said = "";
  for await (const part of process.stdin.setEncoding("utf8")) {
    said += String(part);
    const end = said.indexOf("\n");
    if (end < 0) continue;
    const { url } = JSON.parse(said.slice(0, end)) as Pick<Estate, "url">;
    said = said.slice(end + 1);
    readyStore(url).catch(() => {});
    for (const builtin of ASKED_FIRST) process.getBuiltinModule(builtin);
  }
  return said;
}

async function execute(store: Store, will: Will): Promise<boolean> {
  const why = await executeWill(store, will);
  if (why !== undefined) report(why);
  return why === undefined;
}

function report(why: string): void {
  process.stderr.write(`conclave keeper: the term could not be given back (${why}); it ends with its ttl\n`);
}

for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    report(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
