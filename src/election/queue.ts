// A queue: first in, first out. Taking an item is cheap however long the queue is, and the queue keeps no reference to an item that was taken.

export class Queue<V> {
  #items: (V | undefined)[] = [];
  #taken = 0;

  add(item: V): void {
    this.#items.push(item);
  }

  /** Returns the oldest item, or undefined if there is none. */
  take(): V | undefined {
    if (this.#taken === this.#items.length) return undefined;
    const item = this.#items[this.#taken];
    this.#items[this.#taken++] = undefined;
    if (this.#taken === this.#items.length) {
      this.#items = [];
      this.#taken = 0;
    }
    return item;
  }
}
