// The callers that wait for a renewal, an announcement or a memo of a term.
import type { ConclaveError } from "../base/errors.ts";
import type { Name } from "../lease/exchange.ts";

export interface Waiter {
  readonly name: Name;
  /** The renewal, the announcement or the memo that is waited for. */
  readonly id: number;
  readonly resolve: () => void;
  readonly reject: (error: ConclaveError) => void;
}

/** Settles those of `waiters` that are selected, and returns the others. */
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

/** Announcements and memos that have been asked for. */
export class Wishes {
  #waiting: Waiter[] = [];
  #made = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  make(name: Name, send: (id: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = ++this.#made;
      this.#waiting.push({ name, id, resolve, reject });
      send(id);
    });
  }

  done(id: number, error: ConclaveError | undefined): void {
    this.#waiting = settled(this.#waiting, (waiter) => waiter.id === id, error);
  }

  giveUp(name: Name, error: ConclaveError): void {
    this.#waiting = settled(this.#waiting, (waiter) => waiter.name === name, error);
  }
}
