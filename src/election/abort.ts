// Waits for a signal to abort. A signal is often shared by thousands of elections, and Node warns of each listener beyond the tenth. So there
// is one listener per signal, with a list behind it, and the listener is removed when nobody waits any more.

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `then` when `signal` aborts. Returns a function that stops waiting. If the signal has aborted already, `then` is not called. */
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

/** Settles as `promise` does, unless `signal` aborts first: then it rejects with the reason of the signal. */
export function untilAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    const stop = onAbort(signal, () => reject(signal.reason as Error));
    void promise.then(resolve, reject).finally(stop);
  });
}
