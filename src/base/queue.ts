// A queue: first in, first out. Taking an item is cheap however long the queue is, and the queue keeps no reference to an item that was taken.
//
// It is no Set and no linked list. What joins and leaves those all the time is chained together in memory, oldest to newest (worn-map.ts says how), and then the garbage collector has to keep it until the
// next full collection.

/** So many places of taken items are given back at once. */
const TAKEN_MOST = 64;

export class Queue<V> {
  #items: (V | undefined)[] = [];
  #taken = 0;

  /** How many items it has room for now. */
  get places(): number {
    return this.#items.length;
  }

  add(item: V): void {
    this.#items.push(item);
  }

  /** Returns the oldest item, or undefined if there is none. */
  take(): V | undefined {
    if (this.#taken === this.#items.length) return undefined;
    const item = this.#items[this.#taken];
    this.#items[this.#taken++] = undefined;
    const isEmpty = this.#taken === this.#items.length;
    // A queue that never gets empty must not grow for ever.
    if (isEmpty || (this.#taken >= TAKEN_MOST && 2 * this.#taken >= this.#items.length)) {
      this.#items = isEmpty ? [] : this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}
