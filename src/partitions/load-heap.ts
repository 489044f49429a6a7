// Members ordered by their load for their weight, the least first; for one zone, or for all. Pure. There is one heap for each zone, because there are
// few zones: the least of all is the least of their heads.

export interface Loaded {
  readonly weight: number;
  readonly zone?: string | undefined;
  readonly isDraining?: boolean | undefined;
}

export class LoadHeap {
  readonly #loads: Float64Array;
  /** Load divided by weight, by which members are ordered. */
  readonly #keys: Float64Array;
  readonly #parts: Float64Array;
  /** Zone → places of its members, as a heap. Members that drain are in none. */
  readonly #zones = new Map<string, number[]>();
  readonly #heaps: (number[] | undefined)[];
  /** Where a member stands in the heap of its zone. */
  readonly #at: Int32Array;

  /** `loads`: what each member has already. */
  constructor(members: readonly Loaded[], loads: Float64Array) {
    this.#loads = loads;
    this.#parts = Float64Array.from(members, ({ weight }) => 1 / weight);
    this.#keys = loads.map((load, member) => load * (this.#parts[member] as number));
    this.#at = new Int32Array(members.length).fill(-1);
    this.#heaps = members.map(({ zone = "", isDraining }, member) => {
      if (isDraining === true) return undefined;
      const heap = this.#zones.get(zone) ?? [];
      this.#zones.set(zone, heap);
      heap.push(member);
      return heap;
    });
    for (const heap of this.#zones.values()) {
      heap.sort((a, b) => (this.#isBefore(a, b) ? -1 : 1)); // a sorted list is a heap
      for (const [place, member] of heap.entries()) this.#at[member] = place;
    }
  }

  loadOf(member: number): number {
    return this.#loads[member] as number;
  }

  add(member: number, weight: number): void {
    const load = (this.#loads[member] as number) + weight;
    this.#loads[member] = load;
    this.#keys[member] = load * (this.#parts[member] as number);
    const heap = this.#heaps[member];
    if (heap === undefined) return;
    if (weight < 0) this.#rise(heap, member);
    else this.#sink(heap, member);
  }

  /** The member with the least load of a zone, or of all if no zone is given. Undefined: there is none. */
  least(zone?: string): number | undefined {
    if (zone !== undefined) return this.#zones.get(zone)?.[0];
    let best: number | undefined;
    for (const heap of this.#zones.values()) {
      const head = heap[0] as number;
      if (best === undefined || this.#isBefore(head, best)) best = head;
    }
    return best;
  }

  /** Members with equal loads come in the order of the list, so that the answer depends on nothing else. */
  #isBefore(a: number, b: number): boolean {
    const left = this.#keys[a] as number;
    const right = this.#keys[b] as number;
    return left === right ? a < b : left < right;
  }

  #rise(heap: number[], member: number): void {
    let place = this.#at[member] as number;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent] as number;
      if (!this.#isBefore(member, above)) break;
      this.#put(heap, place, above);
      place = parent;
    }
    this.#put(heap, place, member);
  }

  #sink(heap: number[], member: number): void {
    let place = this.#at[member] as number;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1] as number, heap[child] as number)) child++;
      const below = heap[child] as number;
      if (!this.#isBefore(below, member)) break;
      this.#put(heap, place, below);
      place = child;
    }
    this.#put(heap, place, member);
  }

  #put(heap: number[], place: number, member: number): void {
    heap[place] = member;
    this.#at[member] = place;
  }
}
