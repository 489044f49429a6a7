// A fenced resource: accepts a write only with the newest token it has seen. Writes reach it late, out of order, and after their writer
// is gone; that is what the token is for. What it accepts is decided by the guards' own rule (fencing/rule.ts).
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import { judge, leave, type Move, type Remembered } from "../../fencing/rule.ts";
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
    if (event.kind === "adopt") this.#adopt(event.payload as Move & { readonly resource: Name });
    else this.#judge(event.payload as Write);
  }

  #judge({ resource, token, writer }: Write): void {
    const { counts, trace, kernel } = this.#world;
    const judged = judge(this.#remembered.get(resource), token);
    const verdict = typeof judged === "string" ? judged : "accepted";
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "submission", resource, who: writer, token: token.value, verdict });
    trace.hash.mix(verdict.length);
    if (verdict === "stale") counts.staleWritesRefused++;
    if (verdict === "equal") counts.equalWritesRefused++;
    if (verdict === "left") counts.leftWritesRefused++;
    if (verdict === "foreign") this.#foreign(resource, token);
    if (typeof judged === "string") return;
    counts.writesAccepted++;
    this.#remembered.set(resource, judged);
    this.#world.observe({ type: "accepted", atMs: kernel.nowMs, resource, token });
  }
  /** Somebody notices, now and then, that the store has moved, and moves the resource after it; never back. */
  #foreign(resource: Name, { domain: to }: Token): void {
    const { counts, rng, kernel } = this.#world;
    counts.foreignWritesRefused++;
    const from = this.#remembered.get(resource)?.domain ?? to;
    if (moveOf(to) <= moveOf(from) || !nextChance(rng, 0.3)) return;
    kernel.schedule(kernel.nowMs + nextBetween(rng, 0, this.#spec.slowMaxMs), this, "adopt", 0, { resource, from, to });
  }

  #adopt({ resource, from, to }: Move & { readonly resource: Name }): void {
    const remembered = this.#remembered.get(resource);
    const moved = remembered === undefined ? "elsewhere" : leave(remembered, { from, to });
    if (moved === "elsewhere" || moved === remembered) return;
    this.#world.counts.adoptions++;
    this.#remembered.set(resource, moved);
    this.#world.observe({ type: "adopted", atMs: this.#world.kernel.nowMs, resource, to });
  }
}

/** Domains of a store that has moved are numbered. */
function moveOf(domain: string): number {
  return Number(domain.split("#")[1] ?? 0);
}
