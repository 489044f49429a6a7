// The links between members 1…N, and to the resource at address 0. Each direction of a link can be cut or held (kernel/routes.ts), slow, lossy, doubling. A FIFO
// link never lets a message overtake another; others may.
import { nextFraction, type Rng } from "../../base/rng.ts";
import type { Message, NodeId } from "../../protocols/node.ts";
import { drawLatency, type Latency } from "../kernel/latency.ts";
import { type Held, Routes } from "../kernel/routes.ts";
import type { Direction } from "./partitions.ts";

export interface LinkSpec {
  readonly latency: Latency;
  readonly lossChance: number;
  readonly duplicateChance: number;
  readonly isFifo: boolean;
}

export interface HeldMessage extends Held {
  readonly message: Message;
  readonly id: number;
}

/** The fate of a message at its send. */
export type MessageFate = "sent" | "doubled" | "lost" | "cut" | "held";

/** Where order is kept, a message arrives this much later than the one before on the same link. */
const BEHIND_MS = 1e-6;

export class Links extends Routes<HeldMessage> {
  spec: LinkSpec;
  readonly #rng: Rng;
  readonly #size: number;
  /** The partitions that last, the oldest first. */
  #partitions: readonly { readonly how: string; readonly cuts: readonly Direction[] }[] = [];
  readonly #lastArrivalMs: Float64Array;

  constructor(nodes: number, rng: Rng, spec: LinkSpec) {
    super(nodes);
    this.#size = nodes + 1;
    this.#rng = rng;
    this.spec = spec;
    this.#lastArrivalMs = new Float64Array(this.#size ** 2);
  }

  fork(): Links {
    const fork = new Links(this.#size - 1, { ...this.#rng }, this.spec);
    this.copyTo(fork);
    fork.#lastArrivalMs.set(this.#lastArrivalMs);
    fork.#partitions = this.#partitions;
    return fork;
  }

  partition(how: string, cuts: readonly Direction[]): void {
    for (const { from, to } of cuts) this.cut(from, to);
    this.#partitions = [...this.#partitions, { how, cuts }];
  }

  /** Mends the links that the oldest partition of that name has cut. Links that another partition has cut too stay cut. */
  unite(how: string): void {
    const ended = this.#partitions.find((partition) => partition.how === how);
    if (ended === undefined) throw new RangeError(`there is no partition ${how} to heal`);
    for (const { from, to } of ended.cuts) this.mend(from, to);
    this.#partitions = this.#partitions.filter((partition) => partition !== ended);
  }

  override mendAll(): void {
    super.mendAll();
    this.#partitions = [];
  }

  fateOf(from: NodeId, to: NodeId): MessageFate {
    if (this.isCut(from, to)) return "cut";
    const { lossChance, duplicateChance } = this.spec;
    if (lossChance > 0 && nextFraction(this.#rng) < lossChance) return "lost";
    if (this.isHeld(from, to)) return "held";
    return duplicateChance > 0 && nextFraction(this.#rng) < duplicateChance ? "doubled" : "sent";
  }

  /** Returns the time when a message that is sent now arrives. */
  arrivalMs(from: NodeId, to: NodeId, nowMs: number): number {
    if (from === to) return nowMs;
    const atMs = nowMs + drawLatency(this.#rng, this.spec.latency);
    if (!this.spec.isFifo) return atMs;
    const direction = from * this.#size + to;
    const last = this.#lastArrivalMs[direction] as number;
    const inOrderMs = atMs > last ? atMs : last + BEHIND_MS;
    this.#lastArrivalMs[direction] = inOrderMs;
    return inOrderMs;
  }
}
