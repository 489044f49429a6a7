// The network between numbered nodes. A message may be delayed, lost, doubled, and overtaken by a later one; a link may be cut in one
// direction, or stalled, which delivers everything in the end. What is in flight when a link is cut still arrives: a cut is no recall.
// Knows nothing of stores or elections: a message is a value that one node sends and another understands.
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import type { Actor, Kernel, KernelEvent } from "./kernel.ts";

/** What messages can be sent to. */
export interface Node {
  receive(from: number, message: unknown): void;
}

/** More nodes than any world has: a direction is one number, `from * NODES_MAX + to`. */
const NODES_MAX = 64;

export interface NetworkSpec {
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
  /** Some messages take much longer, up to this. */
  readonly slowChance: number;
  readonly slowMaxMs: number;
  readonly lossChance: number;
  readonly duplicateChance: number;
  /** What node 0 sends to odd addresses takes up to this much longer: requests of some are applied soon, their answers are late. */
  readonly lateAnswersMs: number;
}

/** As good as it gets: 0–1 ms, and nothing else. */
export const CALM_NETWORK: NetworkSpec = {
  delayMinMs: 0,
  delayMaxMs: 1,
  slowChance: 0,
  slowMaxMs: 0,
  lossChance: 0,
  duplicateChance: 0,
  lateAnswersMs: 0,
};

export class Network implements Actor {
  /** May be replaced while the world runs: faults end, and then messages are as good as they get. */
  spec: NetworkSpec;
  readonly #kernel: Kernel;
  readonly #rng: Rng;
  readonly #nodes: Node[] = [];
  /** Direction → how many cuts lie on it. */
  readonly #cuts = new Map<number, number>();

  /** Direction → what waits there. */
  readonly #stalled = new Map<number, unknown[]>();

  constructor(kernel: Kernel, rng: Rng, spec: NetworkSpec) {
    this.#kernel = kernel;
    this.#rng = rng;
    this.spec = spec;
  }

  /** A restarted process takes its predecessor's address, and gets what was still on its way to it. */
  attach(address: number, node: Node): void {
    this.#nodes[address] = node;
  }

  cut(from: number, to: number): void {
    const direction = from * NODES_MAX + to;
    this.#cuts.set(direction, (this.#cuts.get(direction) ?? 0) + 1);
  }

  mend(from: number, to: number): void {
    const direction = from * NODES_MAX + to;
    this.#cuts.set(direction, Math.max(0, (this.#cuts.get(direction) ?? 0) - 1));
  }

  /** From now on nothing gets through in this direction, and nothing is lost: it arrives when `flow` is called. */
  stall(from: number, to: number): void {
    const direction = from * NODES_MAX + to;
    if (!this.#stalled.has(direction)) this.#stalled.set(direction, []);
  }

  flow(from: number, to: number): void {
    const direction = from * NODES_MAX + to;
    const messages = this.#stalled.get(direction) ?? [];
    this.#stalled.delete(direction);
    for (const message of messages) this.#dispatch(from, to, message);
  }

  /** Whether anything is under way. False: it was lost, which the sender can learn only by waiting. */
  send(from: number, to: number, message: unknown): boolean {
    if ((this.#cuts.get(from * NODES_MAX + to) ?? 0) > 0) return false;
    if (nextChance(this.#rng, this.spec.lossChance)) return false;
    const stalled = this.#stalled.get(from * NODES_MAX + to);
    if (stalled !== undefined) {
      stalled.push(message);
      return true;
    }
    this.#dispatch(from, to, message);
    if (nextChance(this.#rng, this.spec.duplicateChance)) this.#dispatch(from, to, message);
    return true;
  }

  handle(event: KernelEvent): void {
    const to = event.subject % NODES_MAX;
    this.#nodes[to]?.receive((event.subject - to) / NODES_MAX, event.payload);
  }

  #dispatch(from: number, to: number, message: unknown): void {
    const { delayMinMs, delayMaxMs, slowChance, slowMaxMs, lateAnswersMs } = this.spec;
    const isSlow = nextChance(this.#rng, slowChance);
    const delayMs = isSlow
      ? nextBetween(this.#rng, delayMaxMs, slowMaxMs)
      : nextBetween(this.#rng, delayMinMs, delayMaxMs);
    const isLate = from === 0 && lateAnswersMs > 0 && to % 2 === 1;
    const lateMs = isLate ? nextBetween(this.#rng, lateAnswersMs / 2, lateAnswersMs) : 0;
    this.#kernel.schedule(this.#kernel.nowMs + delayMs + lateMs, this, "message", from * NODES_MAX + to, message);
  }
}
