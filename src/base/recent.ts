// A map that remembers the latest so many keys and forgets the one that was set longest ago. For what a driver remembers of past sessions and resources:
// whatever is forgotten must cost a request, and never a promise.
import { renewed } from "./worn-map.ts";

export class Recent<K, V> {
  readonly #limit: number;
  #items = new Map<K, V>();
  #added = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.size;
  }

  has(key: K): boolean {
    return this.#items.has(key);
  }

  get(key: K): V | undefined {
    return this.#items.get(key);
  }

  /** Setting a key again makes it the latest. */
  set(key: K, value: V): void {
    this.#items.delete(key);
    this.#items = renewed(this.#items, ++this.#added).set(key, value);
    if (this.#items.size <= this.#limit) return;
    for (const oldest of this.#items.keys()) {
      this.#items.delete(oldest);
      return;
    }
  }

  delete(key: K): void {
    this.#items.delete(key);
  }

  /** Those of now: a key that is set while somebody goes through them may be passed over. */
  keys(): Iterable<K> {
    return this.#items.keys();
  }

  clear(): void {
    this.#items.clear();
  }
}
