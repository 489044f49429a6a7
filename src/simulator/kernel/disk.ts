// A member's disk. Writes become durable one after the other, each some time after it was asked for. At a crash a drawn number of the writes that were not yet durable,
// counted from the first, has reached the disk all the same, and the rest is lost; the first of the lost may be torn. A torn record fails its checksum, so a reader finds
// the record before it: torn and lost differ in the transcript and not in the image.
import { nextChance, nextInteger, type Rng } from "../../base/rng.ts";

/** How writes add up: a node's `fold`. */
interface Folds {
  fold(image: unknown, write: unknown): unknown;
}

interface Pending {
  readonly ticket: number;
  readonly write: unknown;
}

export interface CrashedWrites {
  /** How many writes were never acknowledged, and are on the disk all the same. */
  readonly kept: number;
  readonly lost: number;
  readonly isTorn: boolean;
}

export class Disk {
  /** What a restart finds; undefined: nothing was ever written. */
  image: unknown;
  readonly #node: Folds;
  readonly #pending: Pending[] = [];
  /** No write is done before the one before it. */
  lastDueMs = 0;

  constructor(node: Folds) {
    this.#node = node;
  }

  /** Images and writes are never changed in place, so they are shared. */
  fork(): Disk {
    const fork = new Disk(this.#node);
    fork.image = this.image;
    fork.lastDueMs = this.lastDueMs;
    fork.#pending.push(...this.#pending);
    return fork;
  }

  accept(ticket: number, write: unknown): void {
    this.#pending.push({ ticket, write });
  }

  /** The oldest pending write is durable now. */
  settle(): void {
    const first = this.#pending.shift();
    if (first !== undefined) this.image = this.#node.fold(this.image, first.write);
  }

  crash(rng: Rng, losesWrites: boolean): CrashedWrites {
    const count = this.#pending.length;
    const kept = losesWrites && count > 0 ? nextInteger(rng, 0, count) : count;
    for (let index = 0; index < kept; index++) this.settle();
    this.#pending.length = 0;
    this.lastDueMs = 0;
    return { kept, lost: count - kept, isTorn: kept < count && nextChance(rng, 0.5) };
  }
}
