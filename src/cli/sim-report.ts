// What `conclave sim` prints: a run message by message, and a swarm as tables and histograms. Text only; deterministic.
import {
  type Distribution,
  distributionOf,
  type ElectionResult,
  type ElectionRun,
  formatAction,
  formatEvent,
  histogramOf,
  type Sample,
  type TraceEvent,
} from "../simulator/index.ts";

function line(event: TraceEvent): string {
  if (event.type === "action") return `${event.atMs.toFixed(3).padStart(10)}  * ${formatAction(event.action)}`;
  return formatEvent(event) ?? "";
}

export function tellTrace(trace: readonly TraceEvent[]): readonly string[] {
  return trace.map(line);
}

/** `hasVotes`: whether a term that nobody won says anything about this protocol. */
export function tellRun(
  { events, result, splitVotes, ledMs, agreedMs, world }: ElectionRun,
  hasVotes: boolean,
): string {
  const lines = events.map(line);
  const { resource } = world;
  const writes =
    world.spec.writeEveryMs > 0
      ? [
          `writes        ${resource.accepted.length} accepted, ${resource.stale} of them stale, ${resource.refused} refused`,
        ]
      : [];
  const times = Number.isFinite(ledMs)
    ? [
        `time          first leader after ${show(ledMs)} ms${Number.isFinite(agreedMs) ? `, all agree after ${show(agreedMs)} ms` : ""}`,
      ]
    : [];
  return [
    ...lines,
    "",
    ...summary(result),
    ...times,
    ...(hasVotes && splitVotes > 0 ? [`split votes   ${splitVotes}`] : []),
    ...writes,
    "",
  ].join("\n");
}

function summary({ protocol, nodes, seed, leader, term, messages, violations }: ElectionResult): readonly string[] {
  const byType = Object.entries(messages.byType).map(([type, count]) => `${type} ${count}`);
  return [
    `${protocol}, ${nodes} nodes, seed ${seed}`,
    leader === null ? "leader        nobody whom all agree on" : `leader        ${leader}, term ${term}`,
    `messages      ${messages.total}${byType.length === 0 ? "" : `: ${byType.join(", ")}`}`,
    ...violations.map(({ invariant, story, atMs }) => `VIOLATION     ${invariant} at ${show(atMs)} ms: ${story}`),
  ];
}

const COLUMNS = ["seed", "leader", "term", "messages", "ledMs", "agreedMs", "splitVotes", "events"] as const;

export function samplesAsCsv(samples: readonly Sample[]): string {
  const rows = samples.map((sample) =>
    [...COLUMNS.map((column) => cellOf(column, sample[column])), sample.violation?.invariant ?? ""].join(","),
  );
  return [[...COLUMNS, "violation"].join(","), ...rows, ""].join("\n");
}

/** "Nobody" and "never" are empty cells: a reader that adds up the others must not count them. */
function cellOf(column: (typeof COLUMNS)[number], value: number): string {
  return value < 0 || (column === "leader" && value === 0) ? "" : String(value);
}

export interface SwarmSummary {
  readonly protocol: string;
  readonly nodes: number;
  readonly seeds: { readonly from: number; readonly count: number };
  readonly elected: number;
  readonly ledMs: Distribution;
  readonly agreedMs: Distribution;
  readonly messages: Distribution;
  /** How many elections had at least one split vote, and their share. */
  readonly splitVotes: { readonly elections: number; readonly share: number };
  readonly failures: readonly {
    readonly seed: number;
    readonly invariant: string;
    readonly story: string;
    readonly replay: string;
  }[];
}

export function summarize(
  protocol: string,
  nodes: number,
  samples: readonly Sample[],
  replay: (seed: number) => string,
): SwarmSummary {
  const elected = samples.filter(({ agreedMs }) => agreedMs >= 0);
  const split = samples.filter(({ splitVotes }) => splitVotes > 0).length;
  return {
    protocol,
    nodes,
    seeds: { from: samples[0]?.seed ?? 0, count: samples.length },
    elected: elected.length,
    ledMs: distributionOf(samples.filter(({ ledMs }) => ledMs >= 0).map(({ ledMs }) => ledMs)),
    agreedMs: distributionOf(elected.map(({ agreedMs }) => agreedMs)),
    messages: distributionOf(samples.map(({ messages }) => messages)),
    splitVotes: { elections: split, share: Number((split / samples.length).toFixed(6)) },
    failures: samples.flatMap(({ seed, violation }) =>
      violation === undefined
        ? []
        : [{ seed, invariant: violation.invariant, story: violation.story, replay: replay(seed) }],
    ),
  };
}

const FAILURES_SHOWN = 10;

/** `hasVotes`: whether a term that nobody won says anything about this protocol. */
export function tellSwarm(summary: SwarmSummary, samples: readonly Sample[], hasVotes: boolean): string {
  const { protocol, nodes, seeds, failures } = summary;
  return [
    `${protocol}, ${nodes} nodes, seeds ${seeds.from}…${seeds.from + seeds.count - 1}`,
    ...tellElections(summary, samples, hasVotes),
    failures.length === 0 ? "no invariant was broken" : `${failures.length} seeds broke an invariant`,
    ...failures
      .slice(0, FAILURES_SHOWN)
      .map(({ seed, invariant, story, replay }) => `  seed ${seed}  ${invariant}: ${story}\n    ${replay}`),
    ...(failures.length > FAILURES_SHOWN ? [`  … and ${failures.length - FAILURES_SHOWN} more`] : []),
    "",
  ].join("\n");
}

function tellElections(
  { elected, seeds, ledMs, agreedMs, messages, splitVotes }: SwarmSummary,
  samples: readonly Sample[],
  hasVotes: boolean,
): readonly string[] {
  const row = (name: string, of: Distribution): string =>
    [
      name.padEnd(22),
      ...[of.min, of.mean, of.p50, of.p90, of.p99, of.p999, of.max].map((value) => show(value).padStart(10)),
    ].join("");
  const head = ["", "min", "mean", "p50", "p90", "p99", "p99.9", "max"];
  return [
    `${elected} of ${seeds.count} agreed on a leader`,
    "",
    head.map((word, index) => (index === 0 ? word.padEnd(22) : word.padStart(10))).join(""),
    row("first leader, ms", ledMs),
    row("all agree, ms", agreedMs),
    row("messages", messages),
    "",
    ...(hasVotes ? [`split votes in ${splitVotes.elections} elections, ${show(splitVotes.share * 100)} %`, ""] : []),
    "until all agree",
    ...histogramOf(
      samples.filter((sample) => sample.agreedMs >= 0).map((sample) => sample.agreedMs),
      "ms",
    ),
    "",
    "messages",
    ...histogramOf(
      samples.map((sample) => sample.messages),
      "",
    ),
    "",
  ];
}

function show(value: number): string {
  return Number.isNaN(value) ? "–" : String(Number(value.toFixed(value >= 100 ? 1 : 3)));
}
