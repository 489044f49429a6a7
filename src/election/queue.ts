// First in, first out. Taking is cheap however long the queue is, and what was taken is let go of.

export class Queue<V> {
  #items: (V | undefined)[] = [];
  #taken = 0;

  add(item: V): void {
    this.#items.push(item);
  }

  /** The oldest; undefined if there is none. */
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
