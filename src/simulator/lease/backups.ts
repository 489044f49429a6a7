// Old copies of a modelled store. A failover that forgets needs two of them, the older one up to `forgetMs` old. Stale looks need one.
import type { Shelf } from "../models/shelf.ts";

export class Backups {
  readonly #forgetMs: number;
  #copies: readonly { readonly shelf: Shelf; readonly atMs: number }[] = [];

  /** `forgetMs` 0: the store forgets nothing, and nothing is copied. */
  constructor(forgetMs: number) {
    this.#forgetMs = forgetMs;
  }

  get oldest(): Shelf | undefined {
    return this.#copies[0]?.shelf;
  }

  clear(): void {
    this.#copies = [];
  }

  backUp(shelf: Shelf, atMs: number): void {
    const latest = this.#copies.at(-1);
    if (this.#forgetMs === 0 || (latest !== undefined && atMs - latest.atMs < this.#forgetMs / 2)) return;
    this.#copies = [...this.#copies.slice(-1), { shelf: shelf.copy(), atMs }];
  }
}

export class StaleCopy {
  #copy: { readonly shelf: Shelf; readonly atMs: number } | undefined;

  /** Returns a copy of `shelf` that was made at most `staleMs` ago. */
  of(shelf: Shelf, staleMs: number, nowMs: number): Shelf {
    if (this.#copy === undefined || nowMs - this.#copy.atMs > staleMs)
      this.#copy = { shelf: shelf.copy(), atMs: nowMs };
    return this.#copy.shelf;
  }

  forget(): void {
    this.#copy = undefined;
  }
}
