// Old copies of a modelled store, for a failover that forgets: two of them, the older one up to `forgetMs` old.
import type { Shelf } from "../models/shelf.ts";

export class Backups {
  readonly #forgetMs: number;
  #copies: readonly { readonly shelf: Shelf; readonly atMs: number }[] = [];

  /** 0: the store forgets nothing, and nothing is copied. */
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
