// A world of partitions, drawn from one seed: how many members and partitions, how the store answers, and which faults befall the members.
import { createRng, nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import type { PartitionLayout } from "../../partitions/layout.ts";
import type { RequestLinks } from "../kernel/request.ts";
import type { TaskFault, TaskSpec } from "../kernel/task-world.ts";

export interface PartitionWorldSpec extends TaskSpec, RequestLinks {
  readonly members: number;
  readonly layout: PartitionLayout;
  readonly movesAtOnce: number;
  readonly ttlMs: number;
  readonly drainMs: number;
  /** How long work goes on after its signal has aborted. */
  readonly stopMaxMs: number;
  /** The chance of work that goes on for much longer. */
  readonly deafChance: number;
  readonly faults: readonly PartitionFault[];
  /** The weight of each member; members and partitions have two zones in turn, if any; the member that each partition prefers. */
  readonly weights: readonly number[];
  readonly hasZones: boolean;
  readonly preferred: readonly (number | undefined)[] | undefined;
  /** Who takes a seat must itself have seen its silence for a ttl, as on PostgreSQL and Kubernetes; otherwise the store judges. */
  readonly takersJudge: boolean;
  /** Long after the calm has begun everything must be led. Then one member is killed. */
  readonly killAtMs: number;
  /** Then the controller dies, and another member with it if there is a third. Otherwise one member that is not the controller. */
  readonly killsController: boolean;
}

export type PartitionFaultKind = "kill" | "pause" | "cut" | "leave" | "drain" | "transfer";

export interface PartitionFault extends TaskFault {
  readonly kind: PartitionFaultKind;
  /** Undefined: the process that is the controller at that instant. */
  readonly who: number | undefined;
  readonly partition: number;
  readonly lastsMs: number;
}

export function drawPartitionWorld(seed: number): PartitionWorldSpec {
  const rng = createRng(seed, 91);
  const members = nextInteger(rng, 2, 5);
  const ttlMs = nextOf(rng, [400, 1500]);
  const calmAtMs = nextBetween(rng, 6000, 20_000);
  const count = nextInteger(rng, 1, 12);
  const latencyMaxMs = nextOf(rng, [0, 2, 20, 120]);
  return {
    seed,
    members,
    layout: { count, chunkSize: nextInteger(rng, 1, 5) },
    movesAtOnce: nextOf(rng, [1, 3, 100]),
    ttlMs,
    drainMs: ttlMs / 5,
    latencyMaxMs,
    lossChance: nextOf(rng, [0, 0.05, 0.3]),
    lateChance: nextOf(rng, [0, 0.5]),
    stopMaxMs: nextOf(rng, [0, 10, ttlMs]),
    deafChance: nextOf(rng, [0, 0.3]),
    faults: drawFaults(calmAtMs, ttlMs, members, count, rng),
    ...drawTastes(members, count, rng),
    takersJudge: nextChance(rng, 0.5),
    killsController: nextChance(rng, 0.5),
    calmAtMs,
    killAtMs: calmAtMs + 12_000,
    endMs: calmAtMs + 12_000 + 3 * ttlMs,
  };
}

function drawTastes(
  members: number,
  count: number,
  rng: Rng,
): Pick<PartitionWorldSpec, "weights" | "hasZones" | "preferred"> {
  const isWeighted = nextChance(rng, 0.3);
  const isChoosy = nextChance(rng, 0.3);
  return {
    weights: Array.from({ length: members }, () => (isWeighted ? nextInteger(rng, 1, 3) : 1)),
    hasZones: nextChance(rng, 0.3),
    preferred: isChoosy
      ? Array.from({ length: count }, () => (nextChance(rng, 0.3) ? undefined : nextInteger(rng, 0, members - 1)))
      : undefined,
  };
}

export function hasWeights({ weights }: PartitionWorldSpec): boolean {
  return weights.some((weight) => weight !== weights[0]);
}

/** Whether members or partitions are not all alike. Otherwise nothing of the living moves when a member dies. */
export function hasTastes(spec: PartitionWorldSpec): boolean {
  return hasWeights(spec) || spec.hasZones || spec.preferred !== undefined;
}

/** The zone of a member or partition of this number. */
export function zoneIn({ hasZones }: PartitionWorldSpec, number: number): string | undefined {
  return hasZones ? `z${number % 2}` : undefined;
}

function drawFaults(
  untilMs: number,
  ttlMs: number,
  members: number,
  count: number,
  rng: Rng,
): readonly PartitionFault[] {
  return Array.from({ length: nextInteger(rng, 0, 16) }, (_, index) => ({
    index,
    atMs: nextBetween(rng, 0, untilMs),
    kind: nextOf(rng, ["kill", "kill", "pause", "pause", "cut", "cut", "leave", "drain", "transfer"] as const),
    who: nextChance(rng, 0.4) ? undefined : nextInteger(rng, 0, members - 1),
    partition: nextInteger(rng, 0, count - 1),
    lastsMs: nextChance(rng, 0.4) ? nextBetween(rng, 0, ttlMs / 2) : nextBetween(rng, 0, 3 * ttlMs),
  }));
}

export function describePartitionFault({ index, atMs, kind, who, partition, lastsMs }: PartitionFault): string {
  const whom = who === undefined ? "the controller" : `member ${who}`;
  const how = kind === "transfer" ? ` of partition ${partition}` : ` for ${lastsMs.toFixed(0)} ms`;
  return `fault ${index}: ${kind} ${whom}${how} at ${atMs.toFixed(0)} ms`;
}
