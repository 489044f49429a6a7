// Runs one election from a spec to a result: the leader, the cost, the violations. A run ends when nothing is left to happen, or, for a protocol that goes on for ever, when all agree after the last
// scheduled action; at the latest after `maxMs`.
import { type NodeId, type NodeSettings, settingsOf } from "../../protocols/node.ts";
import type { Scheduled } from "./actions.ts";
import type { Invariant } from "./invariants/invariant.ts";
import type { Violation } from "../kernel/hunt.ts";
import { fixedLatency } from "../kernel/latency.ts";
import { PaceCheck } from "./pace.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { AnySubject } from "./subject.ts";
import { subjectNamed } from "./subjects/index.ts";
import type { ProtocolEvent } from "./trace.ts";
import { ProtocolWorld } from "./world.ts";

/** The result of an election. */
export interface ElectionResult {
  readonly protocol: string;
  readonly nodes: number;
  readonly seed: number;
  /** The leader that all members that are up follow; null: they do not agree. */
  readonly leader: NodeId | null;
  /** The term of the leader; the greatest announced, if there is none. */
  readonly term: number;
  readonly messages: { readonly total: number; readonly byType: Readonly<Record<string, number>> };
  /** The time until the last event. */
  readonly virtualMs: number;
  readonly violations: readonly Violation[];
}

/** An election that was run: its result, its world, and the measurements. */
export interface ElectionRun {
  readonly result: ElectionResult;
  readonly world: ProtocolWorld;
  /** Empty unless recorded. */
  readonly events: readonly ProtocolEvent[];
  /** The number of terms with a candidate and no winner, before the first leader. */
  readonly splitVotes: number;
  /** The time until a member led, and until all agreed; Infinity: that did not happen. */
  readonly ledMs: number;
  readonly agreedMs: number;
  readonly hash: string;
}

/** The options for running an election. */
export interface ElectionOptions {
  readonly isRecorded?: boolean;
  readonly maxMs?: number;
  readonly invariants?: readonly Invariant[];
}

const MAX_MS = 60_000;

type Choices = Partial<Omit<ProtocolSpec, "protocol" | "settings">> & { readonly settings?: NodeSettings };

/** Returns a complete spec: a fixed latency of 10 ms, perfect links, disks of no latency, unless something else is chosen. */
export function specOf(name: string, choices: Choices = {}): ProtocolSpec {
  const nodes = choices.nodes ?? 5;
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  return {
    protocol: name,
    nodes,
    seed: 1,
    links: { latency: fixedLatency(10), lossChance: 0, duplicateChance: 0, isFifo: true },
    diskLatency: fixedLatency(0),
    losesWrites: true,
    ring: ids,
    attributes: ids,
    clockRates: [],
    leader: 0,
    down: [],
    detectMs: 0,
    schedule: [],
    writeEveryMs: 0,
    isFenced: true,
    isOrdered: false,
    ...choices,
    settings: settingsOf(subjectNamed(name).node, choices.settings),
  };
}

/** Runs a world until its members agree or `maxMs` have passed. */
export function runElection(spec: ProtocolSpec, options: ElectionOptions = {}): ElectionRun {
  const { isRecorded = false, maxMs = MAX_MS, invariants } = options;
  const world = new ProtocolWorld(spec, { isRecorded, invariants });
  const votes = new VoteCounter();
  const lastActionMs = Math.max(0, ...spec.schedule.map(({ atMs }) => atMs));
  const isPerpetual = isWithoutEnd(world.subject, spec);
  const pace = new PaceCheck(world);
  while (world.kernel.nextAtMs <= maxMs && world.step()) {
    pace.look();
    votes.look(world);
    if (isPerpetual && world.nowMs > lastActionMs && isSettled(world)) break;
  }
  const isAtRest = isPerpetual ? isSettled(world) : world.kernel.nextAtMs === Infinity;
  if (isAtRest) world.judgeAtRest();
  for (const violation of world.violations)
    world.trace.record(violation.atMs, { type: "violation", invariant: violation.invariant, story: violation.story });
  return {
    result: resultOf(world),
    world,
    // Violations are recorded last; a reader wants them at their times.
    events: world.trace.events.toSorted((a, b) => a.atMs - b.atMs),
    splitVotes: votes.split,
    ledMs: world.firstLedMs,
    agreedMs: world.agreedLeader() === 0 ? Infinity : world.lastAnnouncedMs,
    hash: world.trace.hash.text(),
  };
}

/** All members that are up agree, and nothing keeps them from hearing otherwise. */
function isSettled(world: ProtocolWorld): boolean {
  const leader = world.agreedLeader();
  if (leader === 0) return false;
  return world.members.every(({ id, isUp }) => !isUp || (world.reaches(leader, id) && world.reaches(id, leader)));
}

/** Tells whether something is always left to happen. */
export function isWithoutEnd(subject: AnySubject, { settings, writeEveryMs }: ProtocolSpec): boolean {
  return writeEveryMs > 0 || subject.isPerpetual(settings);
}

/** Returns the result of a world, as far as it has run. */
export function resultOf(world: ProtocolWorld): ElectionResult {
  const { protocol, nodes, seed } = world.spec;
  const leader = world.agreedLeader();
  const byType = Object.fromEntries(Object.entries(world.counts()).filter(([, count]) => count > 0));
  const total = Object.values(byType).reduce((sum, count) => sum + count, 0);
  const term = leader === 0 ? Math.max(...world.members.map((member) => member.term)) : world.member(leader).term;
  return {
    protocol,
    nodes,
    seed,
    leader: leader === 0 ? null : leader,
    term,
    messages: { total, byType },
    virtualMs: Number(world.lastEventMs.toFixed(3)),
    violations: world.violations,
  };
}

/** Split votes: terms with a candidate and no leader, until the first leader. */
class VoteCounter {
  split = 0;
  #term = 0;
  #isDecided = false;

  look(world: ProtocolWorld): void {
    if (this.#isDecided) return;
    for (const { role, term } of world.members) {
      if (role === "leader") this.#isDecided = true;
      else if (role === "candidate" && term > this.#term) {
        if (this.#term > 0) this.split++;
        this.#term = term;
      }
    }
  }
}

/** `1,2/3,4,5@50ms-900ms`: the partition lasts from the first instant to the second, besides other cuts; without an end, for ever; without `@`, from the beginning. */
export function schedulePartition(how: string, fromMs: number, toMs: number | undefined): readonly Scheduled[] {
  const begins: Scheduled = { atMs: fromMs, action: { type: "partition", how } };
  return toMs === undefined ? [begins] : [begins, { atMs: toMs, action: { type: "heal", how } }];
}
