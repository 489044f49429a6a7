// The links between members 1…N, and to the resource at address 0. Each direction of a link can be cut (what is sent is lost), held (it waits and
// arrives when released), slow, lossy, doubling. What is in flight when a link is cut still arrives: a cut is no recall. A FIFO link never
// lets a message overtake another; others may.
import { nextFraction, type Rng } from "../../base/rng.ts";
import type { Message, NodeId } from "../../protocols/node.ts";
import { drawLatency, type Latency } from "../kernel/latency.ts";
import type { Direction } from "./partitions.ts";

export interface LinkSpec {
  readonly latency: Latency;
  readonly lossChance: number;
  readonly duplicateChance: number;
  readonly isFifo: boolean;
}

export interface HeldMessage {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly message: Message;
  readonly id: number;
}

/** What becomes of a message at its send. */
export type Fate = "sent" | "doubled" | "lost" | "cut" | "held";

/** Later than what was before on the same link by so much, where order is kept. */
const BEHIND_MS = 1e-6;

export class Links {
  spec: LinkSpec;
  readonly #rng: Rng;
  readonly #size: number;
  /** Direction → how many cuts lie on it. */
  readonly #cuts: Int32Array;
  /** Direction → whether it is held. */
  readonly #holds: Uint8Array;
  readonly #held: HeldMessage[] = [];
  /** The partitions that last, the oldest first. */
  #partitions: readonly { readonly how: string; readonly cuts: readonly Direction[] }[] = [];
  readonly #lastArrivalMs: Float64Array;

  constructor(nodes: number, rng: Rng, spec: LinkSpec) {
    this.#size = nodes + 1;
    this.#rng = rng;
    this.spec = spec;
    this.#cuts = new Int32Array(this.#size ** 2);
    this.#holds = new Uint8Array(this.#size ** 2);
    this.#lastArrivalMs = new Float64Array(this.#size ** 2);
  }

  fork(): Links {
    const fork = new Links(this.#size - 1, { ...this.#rng }, this.spec);
    fork.#cuts.set(this.#cuts);
    fork.#holds.set(this.#holds);
    fork.#lastArrivalMs.set(this.#lastArrivalMs);
    fork.#held.push(...this.#held);
    fork.#partitions = this.#partitions;
    return fork;
  }

  cut(from: NodeId, to: NodeId): void {
    const direction = this.#direction(from, to);
    this.#cuts[direction] = (this.#cuts[direction] as number) + 1;
  }

  mend(from: NodeId, to: NodeId): void {
    const direction = this.#direction(from, to);
    this.#cuts[direction] = Math.max(0, (this.#cuts[direction] as number) - 1);
  }

  partition(how: string, cuts: readonly Direction[]): void {
    for (const { from, to } of cuts) this.cut(from, to);
    this.#partitions = [...this.#partitions, { how, cuts }];
  }

  /** Mends what the oldest partition of that name has cut. What another has cut too stays so. */
  unite(how: string): void {
    const ended = this.#partitions.find((partition) => partition.how === how);
    if (ended === undefined) throw new RangeError(`there is no partition ${how} to heal`);
    for (const { from, to } of ended.cuts) this.mend(from, to);
    this.#partitions = this.#partitions.filter((partition) => partition !== ended);
  }

  mendAll(): void {
    this.#cuts.fill(0);
    this.#partitions = [];
  }

  isCut(from: NodeId, to: NodeId): boolean {
    return (this.#cuts[from * this.#size + to] as number) > 0;
  }

  hold(from: NodeId, to: NodeId): void {
    this.#holds[this.#direction(from, to)] = 1;
  }

  isHeld(from: NodeId, to: NodeId): boolean {
    return this.#holds[from * this.#size + to] === 1;
  }

  /** What waited there, in the order of its sending. */
  release(from: NodeId, to: NodeId): readonly HeldMessage[] {
    this.#holds[this.#direction(from, to)] = 0;
    const released = this.#held.filter((held) => held.from === from && held.to === to);
    const kept = this.#held.filter((held) => !released.includes(held));
    this.#held.splice(0, this.#held.length, ...kept);
    return released;
  }

  releaseAll(): readonly HeldMessage[] {
    this.#holds.fill(0);
    return this.#held.splice(0);
  }

  get held(): readonly HeldMessage[] {
    return this.#held;
  }

  fateOf(from: NodeId, to: NodeId): Fate {
    const direction = from * this.#size + to;
    if ((this.#cuts[direction] as number) > 0) return "cut";
    const { lossChance, duplicateChance } = this.spec;
    if (lossChance > 0 && nextFraction(this.#rng) < lossChance) return "lost";
    if (this.#holds[direction] === 1) return "held";
    return duplicateChance > 0 && nextFraction(this.#rng) < duplicateChance ? "doubled" : "sent";
  }

  keep(held: HeldMessage): void {
    this.#held.push(held);
  }

  /** When what is sent now arrives. */
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

  /** Of two that exist: another number would be another link's. */
  #direction(from: NodeId, to: NodeId): number {
    for (const id of [from, to])
      if (id >= this.#size) throw new RangeError(`there is no member ${id}; members are 1…${this.#size - 1}`);
    return from * this.#size + to;
  }
}
