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

/** Announcements and memos that have been asked for. Thousands may be under way, one for each name, so that each is found without looking at the others. */
export class Wishes {
  readonly #waiting = new Map<number, Waiter>();
  readonly #ofName = new Map<Name, Set<Waiter>>();
  #made = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  make(name: Name, send: (id: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = ++this.#made;
      const waiter = { name, id, resolve, reject };
      this.#waiting.set(id, waiter);
      this.#ofName.set(name, (this.#ofName.get(name) ?? new Set()).add(waiter));
      send(id);
    });
  }

  done(id: number, error: ConclaveError | undefined): void {
    const waiter = this.#waiting.get(id);
    if (waiter === undefined) return;
    this.#forget(waiter);
    if (error === undefined) waiter.resolve();
    else waiter.reject(error);
  }

  giveUp(name: Name, error: ConclaveError): void {
    for (const waiter of this.#ofName.get(name) ?? []) {
      this.#forget(waiter);
      waiter.reject(error);
    }
  }

  #forget(waiter: Waiter): void {
    this.#waiting.delete(waiter.id);
    const others = this.#ofName.get(waiter.name);
    others?.delete(waiter);
    if (others?.size === 0) this.#ofName.delete(waiter.name);
  }
}
