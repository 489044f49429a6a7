// A short story for people: there are three candidates, and one of them is elected. It stops past its deadline with a write under way, and is replaced; its late write is refused by its token. The
// kernel, the machine and the invariants are those of the hunt, in a world written by hand.
import { nextBetween, nextInteger } from "../../base/rng.ts";
import type { ConclaveEvent } from "../../lease/events.ts";
import type { Fault } from "./faults.ts";
import { runWorld } from "./hunt.ts";
import { CALM_NETWORK } from "../kernel/network.ts";
import { CALM_STORE, type CandidateSpec, type WorldSpec } from "./spec.ts";
import { streamOf } from "./streams.ts";
import type { LeaseEvent } from "./trace.ts";

/** One line of the story. */
export interface DemoLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

/** The story, and its events in numbers. */
export interface DemoResult {
  readonly seed: number;
  readonly lines: readonly DemoLine[];
  readonly summary: {
    readonly elected: number;
    readonly takeovers: number;
    readonly staleWritesRefused: number;
    /** The number of instants at which two candidates led: 0, or the story ends there. */
    readonly overlaps: number;
  };
}

const TTL_MS = 2000;
const ELECTION = "billing";

/** Plays the story of `conclave demo --simulated` from one seed. */
export function demoElection(seed: number): DemoResult {
  const { trace, counts, violation } = runWorld(demoWorld(seed), true);
  const overlaps = violation?.invariant === "exclusion" ? 1 : 0;
  const { elected, takeovers, staleWritesRefused } = counts;
  return { seed, lines: trace.flatMap(tell), summary: { elected, takeovers, staleWritesRefused, overlaps } };
}

function demoWorld(seed: number): WorldSpec {
  const rng = streamOf(seed, "demo");
  const pausedAtMs = nextBetween(rng, 900, 1400);
  const pause: Fault = {
    index: 0,
    kind: "pause",
    atMs: pausedAtMs,
    durationMs: 2 * TTL_MS,
    amountMs: 0,
    election: 0,
    slot: 0,
    aimsAtLeader: true,
    waitsForElection: false,
  };
  const drift = (): number => 1 + nextBetween(rng, -0.004, 0.004);
  const candidate = (name: string): CandidateSpec => ({
    id: name,
    ttlMs: TTL_MS,
    drainMs: 400,
    renewal: "loop",
    clock: { rate: drift(), startMs: nextInteger(rng, 0, 100_000), monoQuantumMs: 0, bootQuantumMs: 0 },
    monoGrainMs: 5,
    bootGrainMs: 5,
    timerLateMs: 2,
    work: { writeEveryMs: 700, isCareless: true, overstayChance: 0, overstayMaxMs: 0 },
  });
  return {
    seed,
    label: "demo",
    rho: 0.005,
    elections: [ELECTION],
    candidates: ["ann", "bob", "cleo"].map(candidate),
    store: { ...CALM_STORE, clock: { rate: drift(), startMs: 0, monoQuantumMs: 0, bootQuantumMs: 0 } },
    network: { ...CALM_NETWORK, delayMinMs: 1, delayMaxMs: 5 },
    resource: { delayMaxMs: 5, slowChance: 0, slowMaxMs: 0 },
    calmAtMs: pausedAtMs + 2 * TTL_MS + 1500,
    faults: [pause],
    alone: [],
  };
}

const NAMES: Readonly<Record<string, string>> = { "c0.1": "ann", "c1.1": "bob", "c2.1": "cleo" };

/** Tells the important events in plain words; all other events are left out. */
function tell(happened: LeaseEvent): readonly DemoLine[] {
  const told = inWords(happened);
  return told === undefined ? [] : [{ atMs: happened.atMs, who: told[0], what: told[1] }];
}

function inWords(happened: LeaseEvent): readonly [who: string, what: string] | undefined {
  if (happened.type === "report") {
    const what = reportInWords(happened.event);
    return what === undefined ? undefined : [nameOf(happened.who), what];
  }
  if (happened.type === "fault")
    return ["nemesis", `pauses ${nameOf(happened.who)} for twice its ttl: a long collection, a stopped container`];
  if (happened.type !== "submission") return undefined;
  const write = `a write of ${nameOf(happened.who)} with token ${happened.token}`;
  if (happened.verdict === "accepted") return ["resource", `accepts ${write}`];
  return happened.verdict === "stale" ? ["resource", `REFUSES ${write}: it has seen a newer one`] : undefined;
}

function reportInWords(event: ConclaveEvent): string | undefined {
  if (event.type === "standing") return "wants to lead";
  if (event.type === "elected") return `is elected, with token ${event.token?.value}`;
  if (event.type === "state" && event.state === "jeopardy") return "has a renewal overdue";
  if (event.type === "state" && event.state === "ending") return `is told to stop (${event.reason})`;
  if (event.type === "lost") return `no longer leads (${event.reason})`;
  return event.type === "settled" ? "has stopped its work" : undefined;
}

function nameOf(who: string): string {
  return NAMES[who] ?? who;
}
