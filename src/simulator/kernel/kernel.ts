// The kernel: one queue of events in true time, and nothing about what they mean. Time is in milliseconds and exists only here; every
// clock that an actor may read is derived from it (clock.ts).
//
// Deterministic: the same schedule calls and the same seed give the same order. Events of one instant run in an order drawn from the seed,
// because nothing outside a simulator promises that what was asked for first happens first.
//
// A world that hands its events back (`recycle`) runs without making garbage. One whose actors can be copied can be copied as a whole (`fork`).
import { nextUint32, type Rng } from "../../base/rng.ts";

/** What events happen to: a process, a store, the network, the nemesis, a world. */
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
  readonly detail: number;
}

type Recycled = { -readonly [Field in keyof KernelEvent]: KernelEvent[Field] };

export class Kernel {
  nowMs = 0;
  /** Events that have happened; cancelled ones do not count. */
  handled = 0;
  readonly #queue: KernelEvent[] = [];
  readonly #spare: Recycled[] = [];
  readonly #ties: Rng | undefined;
  #order = 0;

  /** Without `ties`, events of one instant run in the order in which they were asked for. This is for stories that people read. */
  constructor(ties: Rng | undefined) {
    this.#ties = ties;
  }

  schedule(atMs: number, actor: Actor, kind: string, subject = 0, payload?: unknown, detail = 0): KernelEvent {
    const due = atMs > this.nowMs ? atMs : this.nowMs;
    const tie = this.#ties === undefined ? 0 : nextUint32(this.#ties);
    const event = this.#spare.pop() ?? { atMs: 0, tie: 0, order: 0, actor, kind, subject, payload, detail };
    event.atMs = due;
    event.tie = tie;
    event.order = this.#order++;
    event.actor = actor;
    event.kind = kind;
    event.subject = subject;
    event.payload = payload;
    event.detail = detail;
    this.#queue.push(event);
    this.#rise(this.#queue.length - 1, event);
    return event;
  }

  /** Hands back an event that was taken and that nobody keeps: it will be used again. */
  recycle(event: KernelEvent): void {
    const spare: Recycled = event;
    spare.payload = undefined;
    this.#spare.push(spare);
  }

  cancel(event: KernelEvent | undefined): void {
    if (event !== undefined) event.actor = undefined;
  }

  /** Takes the next event and moves time to it; undefined when nothing is left. The world hands it to its actor. */
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

  /** When the next event is due, cancelled or not; Infinity when nothing is left. */
  get nextAtMs(): number {
    return this.#queue[0]?.atMs ?? Infinity;
  }

  get pending(): Iterable<KernelEvent> {
    return this.#queue;
  }

  /** A copy that goes on exactly as this one would, with each actor's copy in its place. Payloads are shared. */
  fork(copyOf: (actor: Actor) => Actor): Kernel {
    const fork = new Kernel(this.#ties && { ...this.#ties });
    fork.nowMs = this.nowMs;
    fork.handled = this.handled;
    fork.#order = this.#order;
    for (const event of this.#queue)
      fork.#queue.push({ ...event, actor: event.actor === undefined ? undefined : copyOf(event.actor) });
    return fork;
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
