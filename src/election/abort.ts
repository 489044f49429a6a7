// Waiting for a signal to abort. A signal is often shared by thousands of elections, and Node warns of each listener beyond the tenth: so
// there is one listener per signal, and a list behind it that is left again when nobody waits any more.

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `then` when `signal` aborts. Returns how to stop waiting. A signal that has aborted already calls nobody. */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (signal === undefined || signal.aborted) return nothing;
  const list = waiting.get(signal) ?? listen(signal);
  list.add(then);
  return () => void list.delete(then);
}

function nothing(): void {}

function listen(signal: AbortSignal): Set<() => void> {
  const list = new Set<() => void>();
  waiting.set(signal, list);
  signal.addEventListener("abort", () => tell(list), { once: true });
  return list;
}

function tell(list: Set<() => void>): void {
  for (const then of list) then();
  list.clear();
}

/** Resolves when `signal` aborts. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    onAbort(signal, resolve);
  });
}

/** `promise`, unless `signal` aborts first: then its reason. */
export function untilAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    const stop = onAbort(signal, () => reject(signal.reason as Error));
    void promise.then(resolve, reject).finally(stop);
  });
}
