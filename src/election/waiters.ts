// Who waits for a renewal or an announcement of a term.
import type { ConclaveError } from "../base/errors.ts";
import type { Name } from "../lease/exchange.ts";

export interface Waiter {
  readonly name: Name;
  /** The renewal or the announcement that is waited for. */
  readonly id: number;
  readonly resolve: () => void;
  readonly reject: (error: ConclaveError) => void;
}

/** Settles those of `waiters` that are meant, and returns the others. */
export function settled(
  waiters: Waiter[],
  isMeant: (waiter: Waiter) => boolean,
  error: ConclaveError | undefined,
): Waiter[] {
  if (waiters.length === 0) return waiters;
  const others: Waiter[] = [];
  for (const waiter of waiters) {
    if (!isMeant(waiter)) others.push(waiter);
    else if (error === undefined) waiter.resolve();
    else waiter.reject(error);
  }
  return others;
}
