// An election by lease, for comparison with the protocols: N candidates of src/lease use one modelled store, and the first leader may crash. The machine, the world and the invariants are those of the
// hunt; only the spec is written by hand.
import { nextBetween, nextInteger } from "../../base/rng.ts";
import type { Fault, LeaseFaultKind } from "./faults.ts";
import { runWorld } from "./hunt.ts";
import { CALM_NETWORK } from "../kernel/network.ts";
import { CALM_STORE, type CandidateSpec, type WorldSpec } from "./spec.ts";
import { streamOf } from "./streams.ts";
import type { LeaseEvent } from "./trace.ts";
import type { Violation } from "../kernel/hunt.ts";

/** A world of leases as a user chooses it. */
export interface LeaseChoices {
  readonly nodes: number;
  readonly seed: number;
  readonly ttlMs: number;
  /** The time from the signal to the deadline. The renew deadline of Kubernetes is the ttl without it. */
  readonly drainMs: number;
  /** The latency of one message, evenly distributed between the two. */
  readonly delayMs: readonly [number, number];
  /** The faults (crash, pause, cut), each with its victim of 1…N; without a victim it hits the leader at that instant. */
  readonly troubles: readonly {
    readonly kind: LeaseFaultKind;
    readonly atMs: number;
    readonly durationMs: number;
    readonly node?: number | undefined;
  }[];
  /** The world ends as soon after this time as a candidate leads. */
  readonly untilMs: number;
}

/** The result of an election by leases. */
export interface LeaseElection {
  /** The number, 1…N, of the candidate that led last. */
  readonly leader: number;
  /** The token of the leader. */
  readonly token: number;
  readonly byType: Readonly<Record<string, number>>;
  readonly elections: readonly { readonly atMs: number; readonly node: number; readonly token: number }[];
  readonly virtualMs: number;
  readonly violation: Violation | undefined;
  readonly trace: readonly LeaseEvent[];
}

const ELECTION = "leader";

/** Runs one election by leases, with the troubles that were chosen. */
export function electByLease(choices: LeaseChoices): LeaseElection {
  const result = runWorld(leaseWorld(choices), true);
  const elections = result.trace.flatMap(readElection);
  const last = elections.at(-1);
  return {
    leader: last?.node ?? 0,
    token: last?.token ?? 0,
    byType: countRequests(result.trace),
    elections,
    virtualMs: result.trace.at(-1)?.atMs ?? 0,
    violation: result.violation,
    trace: result.trace,
  };
}

/** Slot 0 is member 1. */
function readElection(happened: LeaseEvent): LeaseElection["elections"] {
  if (happened.type !== "report" || happened.event.type !== "elected") return [];
  return [{ atMs: happened.atMs, node: happened.slot + 1, token: Number(happened.event.token?.value ?? 0) }];
}

/** Counts requests as KEEP, CLAIM, LOOK, RELEASE, and every answer that came as ANSWER. */
function countRequests(trace: readonly LeaseEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const happened of trace) {
    const type = typeOfMessage(happened);
    if (type !== undefined) counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

function typeOfMessage(happened: LeaseEvent): string | undefined {
  if (happened.type === "request") return happened.method.toUpperCase();
  return happened.type === "answered" && happened.kind !== "unknown" ? "ANSWER" : undefined;
}

function leaseWorld({ nodes, seed, ttlMs, drainMs, delayMs, troubles, untilMs }: LeaseChoices): WorldSpec {
  const rng = streamOf(seed, "demo");
  const drift = (): number => 1 + nextBetween(rng, -0.004, 0.004);
  const candidate = (id: string): CandidateSpec => ({
    id,
    ttlMs,
    drainMs,
    renewal: "loop",
    clock: { rate: drift(), startMs: nextInteger(rng, 0, 100_000), monoQuantumMs: 0, bootQuantumMs: 0 },
    monoGrainMs: 5,
    bootGrainMs: 5,
    timerLateMs: 2,
    work: { writeEveryMs: ttlMs, isCareless: false, overstayChance: 0, overstayMaxMs: 0 },
  });
  const faults = troubles.map(({ kind, atMs, durationMs, node }, index): Fault => ({
    index,
    kind,
    atMs,
    durationMs,
    amountMs: 0,
    election: 0,
    slot: (node ?? 1) - 1,
    aimsAtLeader: node === undefined,
    waitsForElection: false,
  }));
  return {
    seed,
    label: "lease",
    rho: 0.005,
    elections: [ELECTION],
    candidates: Array.from({ length: nodes }, (_, index) => candidate(String(index + 1))),
    store: { ...CALM_STORE, clock: { rate: drift(), startMs: 0, monoQuantumMs: 0, bootQuantumMs: 0 } },
    network: { ...CALM_NETWORK, delayMinMs: delayMs[0], delayMaxMs: delayMs[1] },
    resource: { delayMaxMs: 5, slowChance: 0, slowMaxMs: 0 },
    calmAtMs: untilMs,
    faults,
    alone: [],
  };
}
