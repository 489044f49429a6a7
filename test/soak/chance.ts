// Chance from a seed: the same seed draws the same faults in the same order. What the machine makes of them is another matter.
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  of<T>(all: readonly T[]): T {
    const chosen = all[Math.floor(this.next() * all.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }
}
