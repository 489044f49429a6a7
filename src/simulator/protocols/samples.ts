// Many elections of one spec, seed after seed: the cost of each, and the distributions. They are plain data, so that threads can share the work.
import { electByLease, type LeaseChoices } from "../lease/election.ts";
import { formatMs } from "../kernel/durations.ts";
import { runElection } from "./election.ts";
import type { Violation } from "../kernel/hunt.ts";
import type { ProtocolSpec } from "./spec.ts";

/** The result of one seed, as numbers. */
export interface Sample {
  readonly seed: number;
  /** 0: there is no leader on whom all agree. */
  readonly leader: number;
  readonly term: number;
  readonly messages: number;
  /** The time until a member led, and until all agreed; −1: that did not happen. */
  readonly ledMs: number;
  readonly agreedMs: number;
  readonly splitVotes: number;
  readonly events: number;
  readonly violation: Violation | undefined;
}

/** The elections to run, and the first seed. */
export type SampleOrder = { readonly fromSeed: number; readonly count: number } & (
  | { readonly kind: "election"; readonly spec: ProtocolSpec; readonly maxMs: number }
  | { readonly kind: "lease"; readonly choices: LeaseChoices }
);

/** Runs one election for each seed. */
export function takeSamples(order: SampleOrder): readonly Sample[] {
  return Array.from({ length: order.count }, (_, index) => takeSample(order, order.fromSeed + index));
}

function takeSample(order: SampleOrder, seed: number): Sample {
  if (order.kind === "election") return electionSample({ ...order.spec, seed }, order.maxMs);
  return leaseSample({ ...order.choices, seed });
}

function electionSample(spec: ProtocolSpec, maxMs: number): Sample {
  const { result, splitVotes, ledMs, agreedMs, world } = runElection(spec, { maxMs });
  return {
    seed: spec.seed,
    leader: result.leader ?? 0,
    term: result.term,
    messages: result.messages.total,
    ledMs: finite(ledMs),
    agreedMs: finite(agreedMs),
    splitVotes,
    events: world.events,
    violation: result.violations[0],
  };
}

/** Takes the election after the last fault, or the first. */
function leaseSample(choices: LeaseChoices): Sample {
  const { leader, token, byType, elections, violation, trace } = electByLease(choices);
  const troubleMs = choices.troubles.at(-1)?.atMs ?? 0;
  const atMs = elections.find((election) => election.atMs >= troubleMs)?.atMs ?? -1;
  const ledMs = atMs < 0 ? -1 : Number((atMs - troubleMs).toFixed(3));
  const messages = Object.values(byType).reduce((sum, count) => sum + count, 0);
  return {
    seed: choices.seed,
    leader,
    term: token,
    messages,
    ledMs,
    agreedMs: ledMs,
    splitVotes: 0,
    events: trace.length,
    violation,
  };
}

function finite(ms: number): number {
  return ms === Infinity ? -1 : Number(ms.toFixed(3));
}

/** A list of numbers, described. */
export interface Distribution {
  readonly count: number;
  readonly min: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** For a non-empty list; all fields are NaN for an empty one. */
export function distributionOf(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return {
    count: sorted.length,
    min: at(0),
    mean: Number(mean.toFixed(3)),
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
  };
}

const BINS = 16;
const WIDTH = 50;

/** A text histogram: one line per bin, the bar as long as its share of the fullest. */
export function histogramOf(values: readonly number[], unit: "ms" | ""): readonly string[] {
  const { min: low, max: high } = distributionOf(values);
  if (values.length === 0 || low === high)
    return values.length === 0 ? [] : [`${show(low, unit)}  all ${values.length}`];
  const step = unit === "" ? Math.max(1, Math.ceil((high - low + 1) / BINS)) : (high - low) / BINS;
  const bins = new Map<number, number>();
  for (const value of values) {
    const bin = Math.min(BINS - 1, Math.floor((value - low) / step));
    bins.set(bin, (bins.get(bin) ?? 0) + 1);
  }
  const fullest = Math.max(...bins.values());
  return Array.from({ length: Math.max(...bins.keys()) + 1 }, (_, bin) => {
    const count = bins.get(bin) ?? 0;
    const bar = "█".repeat(Math.round((count / fullest) * WIDTH)) || (count > 0 ? "▏" : "");
    return `${show(low + bin * step, unit).padStart(12)}  ${String(count).padStart(7)}  ${bar}`.trimEnd();
  });
}

function show(value: number, unit: "ms" | ""): string {
  return unit === "ms" ? formatMs(Math.round(value * 10) / 10) : String(value);
}
