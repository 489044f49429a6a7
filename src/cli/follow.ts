// For commands that go on until they are told to stop: prints a line for everything that comes, until SIGINT, SIGTERM, or until nobody reads any more.
import { type Candidate, createCandidate, shutdownSignal, type Store, type UnfencedTerm } from "../index.ts";
import { INTERRUPTED, YES } from "./command.ts";
import { onlyLooking } from "./store.ts";

/** Prints a line for each thing that `stream` yields, and errors on stderr. Closes the store. */
export async function follow<T>(
  command: string,
  store: Store,
  stream: (watcher: Candidate<UnfencedTerm>, signal: AbortSignal) => AsyncIterable<T>,
  lineOf: (seen: T, at: string) => string,
): Promise<number> {
  const signal = AbortSignal.any([shutdownSignal(), whenNobodyReads()]);
  let isInterrupted = false;
  process.once("SIGINT", () => (isInterrupted = true));
  const watcher = createCandidate(onlyLooking(store)); // it never stands for election
  watcher.subscribe((event) => {
    if (event.type !== "error") return;
    process.stderr.write(`conclave ${command}: ${event.error.code}: ${event.error.message}\n`);
  });
  try {
    for await (const seen of stream(watcher, signal))
      process.stdout.write(`${lineOf(seen, new Date().toISOString())}\n`);
    return isInterrupted ? INTERRUPTED : YES;
  } finally {
    await store.close();
  }
}

/** `conclave observe x | head -1` ends when head has. */
function whenNobodyReads(): AbortSignal {
  const controller = new AbortController();
  process.stdout.on("error", () => controller.abort());
  return controller.signal;
}
