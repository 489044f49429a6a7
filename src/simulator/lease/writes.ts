// Writes on their way to the resources of a world, one resource for each election, under its name. They arrive late, out of order, and after their writer is gone; the token protects against that.
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import type { Move } from "../../fencing/rule.ts";
import type { Name, Token } from "../../lease/exchange.ts";
import type { Counts } from "./counts.ts";
import { movesOf } from "./domain.ts";
import type { Actor, Kernel, KernelEvent } from "../kernel/kernel.ts";
import { Resource } from "../resource.ts";
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

export class Writes implements Actor {
  readonly #world: Surroundings;
  readonly #spec: ResourceSpec;
  readonly #resources = new Map<Name, Resource>();

  constructor(world: Surroundings, spec: ResourceSpec) {
    this.#world = world;
    this.#spec = spec;
  }

  send(resource: Name, token: Token, writer: string): void {
    const { kernel, rng } = this.#world;
    const { delayMaxMs, slowChance, slowMaxMs } = this.#spec;
    const delayMs = nextBetween(rng, 0, nextChance(rng, slowChance) ? slowMaxMs : delayMaxMs);
    kernel.schedule(kernel.nowMs + delayMs, this, "write", 0, { resource, token, writer } satisfies Write);
  }

  handle(event: KernelEvent): void {
    if (event.kind === "adopt") this.#adopt(event.payload as Move & { readonly resource: Name });
    else this.#judge(event.payload as Write);
  }

  #judge({ resource, token, writer }: Write): void {
    const { counts, trace, kernel } = this.#world;
    const verdict = this.#at(resource).write(token);
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "submission", resource, who: writer, token: token.value, verdict });
    trace.hash.mix(verdict.length);
    if (verdict === "stale") counts.staleWritesRefused++;
    if (verdict === "equal") counts.equalWritesRefused++;
    if (verdict === "left") counts.leftWritesRefused++;
    if (verdict === "foreign") this.#foreign(resource, token);
    if (verdict !== "accepted") return;
    counts.writesAccepted++;
    this.#world.observe({ type: "accepted", atMs: kernel.nowMs, resource, token });
  }

  #at(name: Name): Resource {
    const resource = this.#resources.get(name) ?? new Resource();
    this.#resources.set(name, resource);
    return resource;
  }

  /** Now and then an operator notices that the store has moved, and moves the resource after it; never back. */
  #foreign(resource: Name, { domain: to }: Token): void {
    const { counts, rng, kernel } = this.#world;
    counts.foreignWritesRefused++;
    const from = this.#at(resource).domain ?? to;
    if (movesOf(to) <= movesOf(from) || !nextChance(rng, 0.6)) return;
    const afterMs = nextBetween(rng, 0, nextChance(rng, 0.5) ? 0.05 * this.#spec.slowMaxMs : this.#spec.slowMaxMs);
    kernel.schedule(kernel.nowMs + afterMs, this, "adopt", 0, { resource, from, to });
  }

  #adopt({ resource, from, to }: Move & { readonly resource: Name }): void {
    if (!this.#at(resource).adopt({ from, to })) return;
    this.#world.counts.adoptions++;
    this.#world.observe({ type: "adopted", atMs: this.#world.kernel.nowMs, resource, to });
  }
}
