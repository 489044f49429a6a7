// What a drill found, as numbers and as a table.
import type { WriteCounts } from "./resource.ts";
import type { DrillFault } from "./rounds.ts";

export interface DrillOutcome {
  readonly store: string;
  readonly ttlMs: number;
  readonly rounds: number;
  readonly samples: Readonly<Record<string, readonly number[]>>;
  readonly terms: number;
  readonly overlaps: readonly string[];
  readonly staleWrites: { readonly refused: number; readonly accepted: number };
  readonly writers: readonly WriteCounts[];
  readonly problems: readonly string[];
  /** For a store without tokens: what it says that it does not promise. */
  readonly declared?: readonly string[] | undefined;
}

interface Spread {
  readonly min: number;
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

export interface Report {
  readonly store: string;
  readonly ttlMs: number;
  readonly rounds: number;
  readonly failoverMs: Readonly<Partial<Record<DrillFault, Spread>>>;
  readonly ofTtl: Readonly<Partial<Record<DrillFault, Spread>>>;
  readonly terms: number;
  readonly overlaps: number;
  readonly staleWrites: { readonly refused: number; readonly accepted: number };
  /** As an operator who suspects a split brain would compare them: what each process has sent, and what became of it. */
  readonly writers: readonly {
    readonly id: string;
    readonly sent: number;
    readonly accepted: number;
    readonly refused: number;
    readonly lastToken: string;
  }[];
  readonly problems: readonly string[];
  /** For a store without tokens: what it does not promise. So a reader sees whether what the drill has found is within that. */
  readonly declared?: readonly string[];
  readonly ok: boolean;
}

export function summarize(outcome: DrillOutcome): Report {
  const { store, ttlMs, rounds, terms, staleWrites } = outcome;
  const problems = [...outcome.problems, ...outcome.overlaps, ...compareLastWrites(outcome.writers)];
  return {
    store,
    ttlMs,
    rounds,
    failoverMs: spreads(outcome.samples, 1),
    ofTtl: spreads(outcome.samples, ttlMs),
    terms,
    overlaps: outcome.overlaps.length,
    staleWrites,
    writers: outcome.writers.map(({ id, arrived, accepted, refused, lastToken }) => ({
      id,
      sent: arrived,
      accepted,
      refused,
      lastToken: `${lastToken}`,
    })),
    problems,
    ...(outcome.declared === undefined ? {} : { declared: outcome.declared }),
    ok: outcome.overlaps.length === 0 && staleWrites.accepted === 0 && problems.length === 0 && rounds > 0,
  };
}

/** No two processes may have written last with the same token: then two processes would have had one term. */
function compareLastWrites(writers: readonly WriteCounts[]): readonly string[] {
  const seen = new Map<bigint, string>();
  return writers.flatMap(({ id, lastToken, arrived }) => {
    if (arrived === 0) return [];
    const other = seen.get(lastToken);
    seen.set(lastToken, id);
    return other === undefined ? [] : [`${other} and ${id} have both written with token ${lastToken}`];
  });
}

function spreads(samples: DrillOutcome["samples"], unit: number): Readonly<Partial<Record<DrillFault, Spread>>> {
  const entries = Object.entries(samples)
    .filter(([, values]) => values.length > 0)
    .map(([fault, values]) => [fault, spread(values, unit)]);
  return Object.fromEntries(entries) as Partial<Record<DrillFault, Spread>>;
}

function spread(values: readonly number[], unit: number): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
    return Math.round((value / unit) * 100) / 100;
  };
  return { min: at(1 / sorted.length), median: at(0.5), p99: at(0.99), max: at(1) };
}

/** `isWhole` is false of a drill that was interrupted. */
export function tell(report: Report, isWhole: boolean): string {
  const { store, ttlMs, rounds, terms, overlaps, staleWrites, problems } = report;
  const rows = Object.entries(report.failoverMs).map(([fault, { min, median, p99, max }]) => {
    const ratio = (ms: number): string => `${Math.round(ms)} ms (${(ms / ttlMs).toFixed(2)})`;
    return `  ${fault.padEnd(8)}${[min, median, p99, max].map((ms) => ratio(ms).padStart(16)).join("")}`;
  });
  const head = `  ${"fault".padEnd(8)}${["min", "median", "p99", "max"].map((word) => word.padStart(16)).join("")}`;
  return [
    "",
    `${store}, ttl ${ttlMs} ms, ${rounds} complete ${rounds === 1 ? "round" : "rounds"} of each fault`,
    "",
    "failover: from the fault to the successor's first accepted write (in brackets: of the ttl)",
    head,
    ...rows,
    "",
    `${terms} terms, ${overlaps} overlaps; stale writes: ${staleWrites.refused} refused, ${staleWrites.accepted} accepted`,
    ...problems.map((problem) => `NOT RIGHT: ${problem}`),
    ...(report.declared ?? []).map((limit) => `declared: ${limit}`),
    verdict(report, isWhole),
    "",
  ].join("\n");
}

function verdict({ ok, problems, staleWrites, declared }: Report, isWhole: boolean): string {
  if (!isWhole && problems.length === 0 && staleWrites.accepted === 0) return "interrupted; as it should be until then";
  // The only problems are those that a store without tokens cannot prevent.
  if (!ok && declared !== undefined && problems.length === 0 && staleWrites.accepted > 0)
    return "NOT as it should be, and as declared: this store has no tokens, so that nothing refuses the writes of a leader that was replaced";
  return ok ? "as it should be" : "NOT as it should be";
}
