// Messages between machines in simulated time, counted; and a store that serves one request after the other. It is deterministic: only the kernel's seed decides.
import { createRng } from "../../base/rng.ts";
import { type Actor, Kernel, type KernelEvent } from "../kernel/kernel.ts";
import type { KafkaPlan } from "./plan.ts";

/** The store's number; brokers count from 1. */
export const STORE = 0;

export class KafkaPost implements Actor {
  readonly plan: KafkaPlan;
  readonly #kernel: Kernel;
  readonly byKind: Record<string, number> = {};
  states = 0;
  /** Brokers that are dead, or whose messages to and from the store are lost. */
  readonly cut: Set<number> = new Set();
  #isCounting = false;
  #storeIsFreeAtMs = 0;

  constructor(plan: KafkaPlan) {
    this.plan = plan;
    this.#kernel = new Kernel(createRng(plan.seed, 71));
  }

  get nowMs(): number {
    return this.#kernel.nowMs;
  }

  get messages(): number {
    return Object.values(this.byKind).reduce((sum, count) => sum + count, 0);
  }

  /** From now on messages count: what a quiet cluster sends is left out. */
  count(): void {
    this.#isCounting = true;
  }

  at(atMs: number, run: () => void): void {
    this.#kernel.schedule(atMs, this, "run", 0, run);
  }

  handle(event: KernelEvent): void {
    (event.payload as () => void)();
  }

  /** Runs until nothing is left to happen, or until `untilMs`. */
  run(untilMs: number, isDone: () => boolean): void {
    while (this.#kernel.nextAtMs <= untilMs && !isDone()) {
      const event = this.#kernel.take();
      if (event === undefined) return;
      event.actor?.handle(event);
    }
  }

  /** Sends one message. `states`: of how many partitions it speaks. A message between the store and a broker that is cut off is sent, and does not arrive. */
  send(kind: string, from: number, to: number, states: number, arrive: () => void): void {
    if (this.#isCounting) this.byKind[kind] = (this.byKind[kind] ?? 0) + 1;
    if (this.#isCounting) this.states += states;
    const isLost = (): boolean => (from === STORE && this.cut.has(to)) || (to === STORE && this.cut.has(from));
    if (isLost()) return;
    this.at(this.nowMs + this.plan.latencyMs, () => isLost() || arrive());
  }

  /** A request to the store and its answer: two messages. The store carries a request out when it has done all earlier ones. */
  ask<A>(request: Ask<A>, answer: (answer: A) => void): void {
    const { kind, from, does, states = 0, apply } = request;
    this.send(kind, from, STORE, does === "write" ? states : 0, () => {
      const startMs = Math.max(this.nowMs, this.#storeIsFreeAtMs);
      this.#storeIsFreeAtMs = startMs + (does === "write" ? this.plan.writeMs : this.plan.readMs);
      this.at(this.#storeIsFreeAtMs, () => {
        const result = apply();
        this.send(`${kind}: answer`, STORE, from, does === "read" ? states : 0, () => answer(result));
      });
    });
  }
}

export interface Ask<A> {
  readonly kind: string;
  readonly from: number;
  readonly does: "read" | "write";
  /** Of how many partitions the request (a write) or the answer (a read) speaks. */
  readonly states?: number;
  /** Runs at the store, when the turn of the request has come. */
  readonly apply: () => A;
}
