// What is drawn in the same way for all worlds in which processes stand for seats (seat-world.ts): terms, links and faults.
import { nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import type { TaskFault, TaskSpec } from "./task-world.ts";

export interface SeatSpec extends TaskSpec {
  readonly ttlMs: number;
  /** From the end of leading to the deadline. */
  readonly drainMs: number;
  /** How often a process looks around, about. */
  readonly pollMs: number;
  readonly latencyMaxMs: number;
  /** The chance that a request is lost, and that an answer is lost. */
  readonly lossChance: number;
}

export interface SeatFault<Kind extends string> extends TaskFault {
  readonly kind: Kind;
  /** The process that the fault befalls; undefined: the one in charge at that instant. */
  readonly who: number | undefined;
  readonly lastsMs: number;
}

export interface SeatFaults<Kind> {
  readonly most: number;
  /** Each kind is drawn as often as it stands here. */
  readonly kinds: readonly Kind[];
  readonly untilMs: number;
  /** The chance that a fault befalls the process in charge; else it befalls one of the first `count`. */
  readonly inChargeChance: number;
  readonly count: number;
  /** Three of ten faults last at most so long, so that many end just before or after a term does. */
  readonly ttlMs: number;
  readonly longestMs: number;
}

export function drawSeatFaults<Kind extends string>(
  { most, kinds, untilMs, inChargeChance, count, ttlMs, longestMs }: SeatFaults<Kind>,
  rng: Rng,
): readonly SeatFault<Kind>[] {
  return Array.from({ length: nextInteger(rng, 0, most) }, (_, index) => ({
    index,
    atMs: nextBetween(rng, 1000, untilMs),
    kind: nextOf(rng, kinds),
    who: nextChance(rng, inChargeChance) ? undefined : nextInteger(rng, 0, count - 1),
    lastsMs: nextChance(rng, 0.3) ? nextBetween(rng, 0, ttlMs) : nextBetween(rng, 0, longestMs),
  }));
}

export function describeSeatFault({ index, atMs, kind, lastsMs }: SeatFault<string>, whom: string): string {
  return `fault ${index}: ${kind} (${whom}) for ${lastsMs.toFixed(0)} ms at ${atMs.toFixed(0)} ms`;
}
