// The exercises of the seed document that can be simulated, as numbers: 1, Bully with seven nodes; 3, split brain with and without fencing; 4, lease duration
// and renew deadline against failover time and false elections. src/cli prints them.
import { assert } from "../base/assert.ts";
import { createRng, nextBetween, nextFraction } from "../base/rng.ts";
import { electByLease } from "./lease/election.ts";
import { type ElectionResult, runElection, specOf } from "./protocols/election.ts";
import type { ProtocolEvent } from "./protocols/trace.ts";
import { ProtocolWorld } from "./protocols/world.ts";

/** An election of the bully algorithm after one member has failed. */
export interface BullyFailure {
  readonly failed: number;
  readonly result: ElectionResult;
  readonly events: readonly ProtocolEvent[];
}

/** P1 notices that member `failed` of seven is dead, and holds an election, also if that member did not lead. */
export function bullyFailure(failed: number, seed: number): BullyFailure {
  const schedule = [{ atMs: 0, action: { type: "tell", node: 1, command: "campaign", argument: 0 } }] as const;
  const spec = specOf("bully", { nodes: 7, seed, leader: 7, down: [failed], schedule });
  const { result, events } = runElection(spec, { isRecorded: true });
  return { failed, result, events };
}

/** Two leaders at once, and what the resource has taken from each. */
export interface SplitBrain {
  readonly isFenced: boolean;
  /** How long two members said that they lead. */
  readonly twoLeadersMs: number;
  /** From the new leader's first write to the last accepted write of the old one. 0: none was accepted. */
  readonly twoWritersMs: number;
  readonly accepted: number;
  /** Writes that were accepted although a newer leader had written: its work is overwritten. */
  readonly stale: number;
  readonly refused: number;
  readonly events: readonly ProtocolEvent[];
}

const PARTITION = { how: "1,2,3/4,5", fromMs: 100, toMs: 2100 };
const WRITE_EVERY_MS = 40;

/** Five nodes of Bully are cut in two for two seconds; leaders write every 40 ms. */
export function splitBrain(isFenced: boolean, seed: number): SplitBrain {
  const settings = { detector: "heartbeat" };
  const world = new ProtocolWorld(
    specOf("bully", { nodes: 5, seed, leader: 5, settings, writeEveryMs: WRITE_EVERY_MS, isFenced }),
    { isRecorded: true },
  );
  world.runTo(PARTITION.fromMs);
  world.apply({ type: "partition", how: PARTITION.how });
  let twoLeadersMs = 0;
  const runTo = (toMs: number): void => {
    while (world.kernel.nextAtMs <= toMs) {
      const [before, isSplit] = [world.nowMs, world.leaders().length > 1];
      world.step();
      if (isSplit) twoLeadersMs += world.nowMs - before;
    }
  };
  runTo(PARTITION.toMs);
  world.apply({ type: "heal" });
  runTo(PARTITION.toMs + 1000);
  const { resource } = world;
  return {
    isFenced,
    twoLeadersMs: Math.round(twoLeadersMs),
    twoWritersMs: resource.stale === 0 ? 0 : Math.round(resource.staleToMs - firstWriteOfNew(world)),
    accepted: resource.accepted.length,
    stale: resource.stale,
    refused: resource.refused,
    events: world.trace.events,
  };
}

function firstWriteOfNew({ accepted }: ProtocolWorld): number {
  return accepted.find(({ token }) => token > 1)?.atMs ?? 0;
}

/** One lease duration, and what it costs. */
export interface LeaseRow {
  readonly leaseMs: number;
  readonly renewDeadlineMs: number;
  /** From a leader's crash to the next election: median, and the worst seen. */
  readonly failoverMs: number;
  readonly failoverMaxMs: number;
  /** Elections in an hour although no leader had died. */
  readonly falsePerHour: number;
}

const LEASES = [
  [2000, 1500],
  [5000, 2500],
  [5000, 3500],
  [15_000, 5000],
  [15_000, 10_000],
  [15_000, 12_000],
  [30_000, 20_000],
] as const;
const CRASHES = 60;
/** A world has a bound on its events, so an hour is taken in pieces. */
const PIECES = 36;
const PIECE_MS = 300_000;
const HOURS = (PIECES * PIECE_MS) / 3_600_000;
/** How often a healthy leader is disturbed in an hour; most disturbances are short, some long. */
const DISTURBANCES_PER_HOUR = 60;
const DISTURBANCE_MEAN_MS = 3000;

/** The default of Kubernetes is 15 s and 10 s. */
export function leaseTable(seed: number): readonly LeaseRow[] {
  return LEASES.map(([leaseMs, renewDeadlineMs]) => leaseRow(leaseMs, renewDeadlineMs, seed));
}

function leaseRow(leaseMs: number, renewDeadlineMs: number, seed: number): LeaseRow {
  const failovers = Array.from({ length: CRASHES }, (_, index) =>
    failoverOf(leaseMs, renewDeadlineMs, seed + index),
  ).toSorted((a, b) => a - b);
  let falseElections = 0;
  for (let piece = 0; piece < PIECES; piece++)
    falseElections += falseElectionsOf(leaseMs, renewDeadlineMs, seed + piece);
  return {
    leaseMs,
    renewDeadlineMs,
    failoverMs: Math.round(failovers[CRASHES >> 1] ?? 0),
    failoverMaxMs: Math.round(failovers.at(-1) ?? 0),
    falsePerHour: Number((falseElections / HOURS).toFixed(1)),
  };
}

function failoverOf(leaseMs: number, renewDeadlineMs: number, seed: number): number {
  const crashMs = leaseMs + nextBetween(createRng(seed, 81), 0, leaseMs);
  const { elections } = electByLease({
    ...common(leaseMs, renewDeadlineMs, seed),
    // It stays away for longer than any takeover takes.
    troubles: [{ kind: "crash", atMs: crashMs, durationMs: leaseMs * 3 }],
    untilMs: crashMs + leaseMs * 3,
  });
  return (elections.find(({ atMs }) => atMs > crashMs)?.atMs ?? Infinity) - crashMs;
}

/** The leader is cut off from the store now and then, for a few seconds, and lives. */
function falseElectionsOf(leaseMs: number, renewDeadlineMs: number, seed: number): number {
  const rng = createRng(seed, 82);
  const troubles = Array.from({ length: (DISTURBANCES_PER_HOUR * PIECE_MS) / 3_600_000 }, () => ({
    kind: "cut" as const,
    atMs: nextBetween(rng, leaseMs, PIECE_MS),
    durationMs: -Math.log(1 - nextFraction(rng)) * DISTURBANCE_MEAN_MS,
  })).toSorted((a, b) => a.atMs - b.atMs);
  const { elections, violation } = electByLease({
    ...common(leaseMs, renewDeadlineMs, seed),
    troubles,
    untilMs: PIECE_MS,
  });
  assert(violation === undefined, `a lease is exclusive: ${violation?.story}`);
  return elections.length - 1;
}

function common(
  leaseMs: number,
  renewDeadlineMs: number,
  seed: number,
): { nodes: number; seed: number; ttlMs: number; drainMs: number; delayMs: readonly [number, number] } {
  return { nodes: 3, seed, ttlMs: leaseMs, drainMs: leaseMs - renewDeadlineMs, delayMs: [1, 20] };
}
