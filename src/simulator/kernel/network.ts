// The network between numbered nodes. A message may be delayed, lost, doubled, and overtaken by a later one; a direction may be cut, or held, which delivers
// everything in the end (routes.ts).
// Knows nothing of stores or elections: a message is a value that one node sends and another understands.
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import type { Actor, Kernel, KernelEvent } from "./kernel.ts";
import { type Held, Routes } from "./routes.ts";

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
  /** Messages of node 0 to odd addresses take up to this much longer: the requests of some processes are applied soon, but their answers are late. */
  readonly lateAnswersMs: number;
}

/** The best network there is: 0–1 ms, without losses. */
export const CALM_NETWORK: NetworkSpec = {
  delayMinMs: 0,
  delayMaxMs: 1,
  slowChance: 0,
  slowMaxMs: 0,
  lossChance: 0,
  duplicateChance: 0,
  lateAnswersMs: 0,
};

interface HeldMessage extends Held {
  readonly message: unknown;
}

export class Network extends Routes<HeldMessage> implements Actor {
  /** May be replaced while the world runs: when faults end, the network becomes calm. */
  spec: NetworkSpec;
  readonly #kernel: Kernel;
  readonly #rng: Rng;
  readonly #nodes: Node[] = [];

  constructor(kernel: Kernel, rng: Rng, spec: NetworkSpec) {
    super(NODES_MAX - 1);
    this.#kernel = kernel;
    this.#rng = rng;
    this.spec = spec;
  }

  /** A restarted process takes its predecessor's address, and gets what was still on its way to it. */
  attach(address: number, node: Node): void {
    this.#nodes[address] = node;
  }

  /** Sends on what was held in this direction, and frees the direction. */
  flow(from: number, to: number): void {
    for (const { message } of this.release(from, to)) this.#dispatch(from, to, message);
  }

  /** Returns whether the message is under way. False: it was lost, which the sender can learn only by waiting. */
  send(from: number, to: number, message: unknown): boolean {
    if (this.isCut(from, to)) return false;
    if (nextChance(this.#rng, this.spec.lossChance)) return false;
    if (this.isHeld(from, to)) {
      this.keep({ from, to, message });
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
