// A short story for people: three candidates, one of them is elected, stops past its deadline with a write under way, and is replaced; its late
// write is refused by its token. The same kernel, machine and invariants as in the hunt, in a world written by hand.
import { nextBetween, nextInteger } from "../../base/rng.ts";
import type { Fault } from "./faults.ts";
import { runWorld } from "./hunt.ts";
import { CALM_NETWORK } from "../kernel/network.ts";
import { CALM_STORE, type CandidateSpec, type WorldSpec } from "./spec.ts";
import { streamOf } from "./streams.ts";
import type { TraceLine } from "../kernel/trace.ts";

export interface DemoLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

export interface DemoResult {
  readonly seed: number;
  readonly lines: readonly DemoLine[];
  readonly summary: {
    readonly elected: number;
    readonly takeovers: number;
    readonly staleWritesRefused: number;
    /** Instants at which two led: 0, or the story ends there. */
    readonly overlaps: number;
  };
}

const TTL_MS = 2000;
const ELECTION = "billing";

export function demoElection(seed: number): DemoResult {
  const { lines, counts, violation } = runWorld(demoWorld(seed), true);
  const overlaps = violation?.invariant === "exclusion" ? 1 : 0;
  const { elected, takeovers, staleWritesRefused } = counts;
  return { seed, lines: lines.flatMap(tell), summary: { elected, takeovers, staleWritesRefused, overlaps } };
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

const NAMES: Readonly<Record<string, string>> = {
  "c0.1": "ann",
  "c1.1": "bob",
  "c2.1": "cleo",
  [ELECTION]: "resource",
};

/** The lines that matter, in plain words; the others are left out. */
function tell({ atMs, who, what }: TraceLine): readonly DemoLine[] {
  const sentence = inWords(what);
  return sentence === undefined ? [] : [{ atMs, who: NAMES[who] ?? who, what: sentence }];
}

const WORDS: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^standing /, "wants to lead"],
  [/^elected .*"value":"(\d+)"/, "is elected, with token $1"],
  [/^state .*"jeopardy"/, "has a renewal overdue"],
  [/^state .*"ending","reason":"(\w+)"/, "is told to stop ($1)"],
  [/^lost .*"reason":"(\w+)"/, "no longer leads ($1)"],
  [/^settled /, "has stopped its work"],
  [/^fault \d+: pause, (\S+)/, "pauses $1 for twice its ttl: a long collection, a stopped container"],
  [/^a write of (\S+) with token (\d+): accepted/, "accepts a write of $1 with token $2"],
  [/^a write of (\S+) with token (\d+): stale/, "REFUSES a write of $1 with token $2: it has seen a newer one"],
];

function inWords(what: string): string | undefined {
  for (const [pattern, words] of WORDS) {
    const match = pattern.exec(what);
    if (match !== null) return words.replace(/\$(\d)/g, (_, group: string) => nameOf(match[Number(group)] ?? ""));
  }
  return undefined;
}

function nameOf(text: string): string {
  return NAMES[text] ?? text;
}
