// The kernel: one queue of events in true time, and nothing about what they mean. Time is in milliseconds and exists only here; every
// clock that an actor may read is derived from it (clock.ts).
//
// Deterministic: the same schedule calls and the same seed give the same order. Events of one instant run in an order drawn from the seed,
// because nothing outside a simulator promises that what was asked for first happens first.
import { nextUint32, type Rng } from "../base/rng.ts";

/** Whatever events happen to: a process, a store, a resource, the nemesis; later a member of a protocol. */
export interface Actor {
  handle(event: KernelEvent): void;
}

export interface KernelEvent {
  readonly atMs: number;
  readonly tie: number;
  readonly order: number;
  /** Undefined once cancelled. */
  actor: Actor | undefined;
  readonly kind: string;
  readonly subject: number;
  readonly payload: unknown;
}

export class Kernel {
  nowMs = 0;
  /** Events that have happened; cancelled ones do not count. */
  handled = 0;
  readonly #queue: KernelEvent[] = [];
  readonly #ties: Rng;
  #order = 0;

  constructor(ties: Rng) {
    this.#ties = ties;
  }

  schedule(atMs: number, actor: Actor, kind: string, subject = 0, payload?: unknown): KernelEvent {
    const due = Math.max(atMs, this.nowMs);
    const event = { atMs: due, tie: nextUint32(this.#ties), order: this.#order++, actor, kind, subject, payload };
    this.#queue.push(event);
    this.#rise(this.#queue.length - 1, event);
    return event;
  }

  cancel(event: KernelEvent | undefined): void {
    if (event !== undefined) event.actor = undefined;
  }

  /** Takes the next event and moves time to it; undefined when nothing is left. Whoever runs the world hands it to its actor. */
  take(): KernelEvent | undefined {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return undefined;
      if (event.actor === undefined) continue;
      this.nowMs = event.atMs;
      this.handled++;
      return event;
    }
  }

  #pop(): KernelEvent | undefined {
    const queue = this.#queue;
    const first = queue[0];
    const last = queue.pop();
    if (first !== undefined && last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  #rise(from: number, event: KernelEvent): void {
    const queue = this.#queue;
    let place = from;
    while (place > 0) {
      const parentPlace = (place - 1) >> 1;
      const parent = queue[parentPlace] as KernelEvent;
      if (!isBefore(event, parent)) break;
      queue[place] = parent;
      place = parentPlace;
    }
    queue[place] = event;
  }

  #sink(event: KernelEvent): void {
    const queue = this.#queue;
    const { length } = queue;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= length) break;
      const right = child + 1;
      if (right < length && isBefore(queue[right] as KernelEvent, queue[child] as KernelEvent)) child = right;
      const smaller = queue[child] as KernelEvent;
      if (!isBefore(smaller, event)) break;
      queue[place] = smaller;
      place = child;
    }
    queue[place] = event;
  }
}

function isBefore(a: KernelEvent, b: KernelEvent): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.tie !== b.tie) return a.tie < b.tie;
  return a.order < b.order;
}
