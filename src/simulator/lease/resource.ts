// A fenced resource: accepts a write only with the newest token it has seen. Writes reach it late, out of order, and after their writer
// is gone; that is what the token is for. What it accepts is decided by the guards' own rule (fencing/rule.ts).
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import { judge, type Remembered } from "../../fencing/rule.ts";
import type { Name, Token } from "../../lease/exchange.ts";
import type { Counts } from "./counts.ts";
import type { Actor, Kernel, KernelEvent } from "../kernel/kernel.ts";
import type { Observation } from "./observation.ts";
import type { ResourceSpec } from "./spec.ts";
import type { LeaseTrace } from "./trace.ts";

interface Write {
  readonly resource: Name;
  readonly token: Token;
  readonly writer: string;
}

interface Surroundings {
  readonly kernel: Kernel;
  readonly trace: LeaseTrace;
  readonly counts: Counts;
  readonly rng: Rng;
  observe(observation: Observation): void;
}

/** All resources of a world: one for each election, under its name. */
export class Resource implements Actor {
  readonly #world: Surroundings;
  readonly #spec: ResourceSpec;
  readonly #remembered = new Map<Name, Remembered>();

  constructor(world: Surroundings, spec: ResourceSpec) {
    this.#world = world;
    this.#spec = spec;
  }

  /** Sends a write on its way. */
  write(resource: Name, token: Token, writer: string): void {
    const { kernel, rng } = this.#world;
    const { delayMaxMs, slowChance, slowMaxMs } = this.#spec;
    const delayMs = nextBetween(rng, 0, nextChance(rng, slowChance) ? slowMaxMs : delayMaxMs);
    kernel.schedule(kernel.nowMs + delayMs, this, "write", 0, { resource, token, writer } satisfies Write);
  }

  handle(event: KernelEvent): void {
    const { resource, token, writer } = event.payload as Write;
    const { counts, trace, kernel } = this.#world;
    const judged = judge(this.#remembered.get(resource), token);
    const verdict = typeof judged === "string" ? judged : "accepted";
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "submission", resource, who: writer, token: token.value, verdict });
    trace.hash.mix(verdict.length);
    if (verdict === "stale") counts.staleWritesRefused++;
    if (verdict === "equal") counts.equalWritesRefused++;
    if (typeof judged === "string") return;
    counts.writesAccepted++;
    this.#remembered.set(resource, judged);
    this.#world.observe({ type: "accepted", atMs: kernel.nowMs, resource, token });
  }
}
