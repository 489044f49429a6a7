// A world of schedules, drawn from one seed: how many processes, how far their clocks are apart, how the store answers, and which faults befall them.
import { createRng, nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import type { Plan } from "../../schedule/machine.ts";
import { everyInterval } from "../../schedule/slots.ts";
import type { RequestLinks } from "../kernel/request.ts";
import type { TaskFault, TaskSpec } from "../kernel/task-world.ts";

export const EVERY_MS = 1000;
/** The wall clock that is right shows this at the beginning. Not a slot. */
export const START_WALL_MS = 1_000_000_300;

export interface ScheduleWorldSpec extends TaskSpec, RequestLinks {
  readonly plan: Plan;
  /** How far the wall clock of each process is from the right time at first. */
  readonly wallOffsetsMs: readonly number[];
  readonly ttlMs: number;
  readonly drainMs: number;
  readonly workMaxMs: number;
  readonly failChance: number;
  /** Work that goes on although its signal has aborted. */
  readonly deafChance: number;
  readonly faults: readonly ScheduleFault[];
}

export type ScheduleFaultKind = "kill" | "pause" | "cut" | "resign" | "set-clock";

export interface ScheduleFault extends TaskFault {
  readonly kind: ScheduleFaultKind;
  /** Undefined: the process that leads then. */
  readonly who: number | undefined;
  readonly lastsMs: number;
  /** For "set-clock": by how much the clock is set. */
  readonly byMs: number;
}

export function drawScheduleWorld(seed: number): ScheduleWorldSpec {
  const rng = createRng(seed, 83);
  const processes = nextInteger(rng, 2, 4);
  const ttlMs = nextOf(rng, [400, 1500, 4000]);
  const calmAtMs = nextBetween(rng, 8000, 30_000);
  const apart = nextOf(rng, ["none", "little", "little", "much"] as const);
  const plan: Plan = {
    next: everyInterval(EVERY_MS),
    missed: nextOf(rng, ["all", "all", "last", "none"]),
    missedMax: 100_000,
    mark: nextOf(rng, ["before", "after"]),
  };
  return {
    seed,
    plan,
    wallOffsetsMs: Array.from({ length: processes }, () => drawOffset(apart, rng)),
    ttlMs,
    drainMs: ttlMs / 5,
    latencyMaxMs: nextOf(rng, [0, 2, 40, 250]),
    lossChance: nextOf(rng, [0, 0.05, 0.3]),
    lateChance: nextOf(rng, [0, 0.5]),
    workMaxMs: nextOf(rng, [1, 200, 900, 2500]),
    failChance: nextOf(rng, [0, 0.2]),
    deafChance: nextOf(rng, [0, 0.5]),
    faults: drawFaults(calmAtMs, ttlMs, processes, rng),
    calmAtMs,
    endMs: calmAtMs + 40_000,
  };
}

function drawOffset(apart: "none" | "little" | "much", rng: Rng): number {
  if (apart === "none") return 0;
  return apart === "little" ? nextBetween(rng, -400, 400) : nextBetween(rng, -6000, 6000);
}

function drawFaults(untilMs: number, ttlMs: number, processes: number, rng: Rng): readonly ScheduleFault[] {
  return Array.from({ length: nextInteger(rng, 0, 14) }, (_, index) => ({
    index,
    atMs: nextBetween(rng, 0, untilMs),
    kind: nextOf(rng, ["kill", "kill", "pause", "pause", "cut", "resign", "set-clock"] as const),
    who: nextChance(rng, 0.8) ? undefined : nextInteger(rng, 0, processes - 1),
    lastsMs: nextChance(rng, 0.4) ? nextBetween(rng, 0, ttlMs / 2) : nextBetween(rng, 0, 3 * ttlMs),
    byMs: nextOf(rng, [nextBetween(rng, -900, 900), nextBetween(rng, -5000, 5000)]),
  }));
}

export function describeScheduleFault({ index, atMs, kind, who, lastsMs, byMs }: ScheduleFault): string {
  const whom = who === undefined ? "the leader" : `process ${who}`;
  const how =
    kind === "set-clock" ? ` by ${byMs.toFixed(0)} ms` : kind === "resign" ? "" : ` for ${lastsMs.toFixed(0)} ms`;
  return `fault ${index}: ${kind} ${whom}${how} at ${atMs.toFixed(0)} ms`;
}
