// `conclave sim --hunt`: worlds drawn from seeds, with faults, judged by invariants; the same for the lease machine and every protocol. A single seed is told
// from beginning to end, and a failing one with only those faults that it needs. Many seeds are counted.
//
// The world of leases also has a control: clocks at twice the declared bound must break something, and what was exercised must reach the minima. A hunt
// that finds nothing because nothing happened is no hunt.
//
// Exit codes: 0 nothing was broken, 1 something was, or too little was exercised, 2 the command was not understood, 130 interrupted.
import {
  addCounts,
  addTallies,
  type AnyHunted,
  CONTROL_ONE_IN,
  type Counts,
  emptyCounts,
  eventAsJson,
  type Finding,
  type Hunt,
  huntNamed,
  huntNames,
  missedMinima,
  missedTallies,
  OWN_HUNTS,
  shrink,
} from "../simulator/index.ts";
import { wholeNumber } from "./sim-options.ts";
import { progressOf, shareOut } from "./sim-pool.ts";
import { tellTrace } from "./sim-report.ts";
import { readFlags } from "./flags.ts";

export const HUNT_HELP: string = `hunting: conclave sim --hunt [NAME…] [options]
  NAME                 lease, schedule, failover, partitions, stonith, a protocol, "protocols", or "all" (default)
  --seed S             this seed alone, told event by event; a failing one with only those faults that it needs
  --faults 3,7         with --seed: only these faults of its schedule; "none" for none
  --seeds N            so many seeds from S on (S is 1 unless told), on all cores
  --control            with --seed: clocks at twice the declared bound, as in the control run of leases
  --json               one JSON object for each NAME
`;

const OPTIONS = {
  hunt: { type: "boolean" },
  seed: { type: "string" },
  seeds: { type: "string" },
  faults: { type: "string" },
  control: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;
const SHOWN_MAX = 3;

interface HuntRequest {
  readonly hunts: readonly Hunt[];
  readonly seed: number;
  /** Undefined: one seed, told event by event. */
  readonly seeds: number | undefined;
  readonly faults: readonly number[] | undefined;
  readonly isControl: boolean;
  readonly isJson: boolean;
}

export async function runHunt(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({
    args: [...args],
    options: OPTIONS,
    strict: true,
    allowPositionals: true,
  });
  if (values.help) {
    process.stdout.write(HUNT_HELP);
    return 0;
  }
  const { seeds, faults, control: isControl, json: isJson } = values;
  if (seeds !== undefined && (faults !== undefined || isControl))
    throw new RangeError("--faults and --control go with one seed: --seed S, and no --seeds");
  const request: HuntRequest = {
    hunts: readNames(positionals).map(huntNamed),
    seed: wholeNumber("seed", values.seed ?? "1", 0),
    seeds: seeds === undefined ? undefined : wholeNumber("seeds", seeds, 1),
    faults: faults === undefined ? undefined : readFaults(faults),
    isControl,
    isJson,
  };
  let code = 0;
  for (const hunt of request.hunts) {
    code = Math.max(code, seeds === undefined ? tellSeed(hunt, request) : await tellSeeds(hunt, request));
    if (code > 1) break;
  }
  return code;
}

function readNames(words: readonly string[]): readonly string[] {
  const names = huntNames();
  const groups: Readonly<Record<string, readonly string[]>> = {
    all: names,
    protocols: names.filter((name) => !OWN_HUNTS.includes(name)),
  };
  return (words.length === 0 ? ["all"] : words).flatMap((word) => {
    const group = Object.hasOwn(groups, word) ? groups[word] : undefined;
    if (group === undefined && !names.includes(word))
      throw new RangeError(`there is nothing to hunt called ${word}: ${[...names, ...Object.keys(groups)].join(", ")}`);
    return group ?? [word];
  });
}

function readFaults(text: string): readonly number[] {
  return text === "none" ? [] : text.split(",").map((part) => wholeNumber("faults", part, 0));
}

// ---- one seed ----------------------------------------------------------------------------------------------------------------------------

function tellSeed(hunt: Hunt, { seed, faults, isControl, isJson }: HuntRequest): number {
  const options = { isControl, faults, isRecorded: true };
  const shrunk = faults === undefined ? shrink((less) => hunt.run(seed, less), options) : undefined;
  const hunted = shrunk?.result ?? hunt.run(seed, options);
  process.stdout.write(isJson ? `${asJson(hunt, hunted)}\n` : tellHunted(hunt, hunted, isControl));
  return hunted.violation === undefined ? 0 : 1;
}

function asJson({ name }: Hunt, { seed, label, faults, hash, violation, trace }: AnyHunted): string {
  const head = JSON.stringify({ name, seed, label, faults, hash, violation: violation ?? null });
  return `${head.slice(0, -1)},"trace":[${trace.map(eventAsJson).join(",")}]}`;
}

function tellHunted(
  hunt: Hunt,
  { seed, label, faults, hash, violation, trace }: AnyHunted,
  isControl: boolean,
): string {
  const drawn = hunt.faultsOf(seed, { isControl });
  return [
    `${hunt.name}, seed ${seed}: ${label}`,
    ...faults.flatMap((fault) => drawn.get(fault) ?? []),
    "",
    ...tellTrace(trace),
    "",
    `hash ${hash}: ${violation === undefined ? "no invariant was broken" : `${violation.invariant} is broken`}`,
    ...(violation === undefined ? [] : [`VIOLATION     ${violation.invariant}: ${violation.story}`]),
    "",
  ].join("\n");
}

// ---- many seeds --------------------------------------------------------------------------------------------------------------------------

export interface Total {
  seeds: number;
  events: number;
  readonly counts: Counts;
  readonly tallies: Record<string, number>;
  readonly hashes: Set<string>;
  readonly findings: Finding[];
}

async function tellSeeds(hunt: Hunt, request: HuntRequest): Promise<number> {
  const { seed: from, seeds = 1, isJson } = request;
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  process.once("SIGINT", interrupt);
  const startedAt = performance.now();
  const total = await runSeeds(hunt, from, seeds, false, interruption.signal);
  const controlSeeds = hunt.hasControl ? Math.min(400, Math.max(100, Math.ceil(seeds / 20))) : 0;
  const control = await runSeeds(hunt, from, controlSeeds, true, interruption.signal);
  process.off("SIGINT", interrupt);
  const seconds = (performance.now() - startedAt) / 1000;
  process.stderr.write(
    `${total.seeds} seeds, ${total.events} events in ${seconds.toFixed(1)} s: ${Math.round(total.events / seconds)} events/s\n`,
  );
  if (interruption.signal.aborted) {
    process.stdout.write(`interrupted after ${total.seeds} seeds, ${total.findings.length} of them broken\n`);
    return 130;
  }
  const overlaps = control.findings.filter(({ invariant }) => invariant === "exclusion").length;
  const missed = missedBy(hunt, total, overlaps, controlSeeds);
  const outcome = { overlaps, controlSeeds, missed };
  process.stdout.write(isJson ? totalAsJson(hunt, from, total, outcome) : tellTotal(hunt, from, total, outcome));
  return total.findings.length === 0 && missed.length === 0 ? 0 : 1;
}

async function runSeeds(
  hunt: Hunt,
  from: number,
  count: number,
  isControl: boolean,
  signal: AbortSignal,
): Promise<Total> {
  const total = emptyTotal();
  const progress = progressOf(isControl ? `${hunt.name}, control` : hunt.name, count);
  const order = { kind: "hunt", name: hunt.name, fromSeed: from, count, isControl } as const;
  await shareOut(
    order,
    (report) => {
      total.seeds += report.seeds;
      total.events += report.events;
      addCounts(total.counts, report.counts);
      addTallies(total.tallies, report.tallies);
      for (const hash of report.hashes) total.hashes.add(hash);
      total.findings.push(...report.findings);
      progress(total.seeds, isControl ? 0 : total.findings.length);
    },
    signal,
  );
  total.findings.sort((a, b) => a.seed - b.seed);
  return total;
}

export function emptyTotal(): Total {
  return { seeds: 0, events: 0, counts: emptyCounts(), tallies: {}, hashes: new Set(), findings: [] };
}

interface Outcome {
  readonly overlaps: number;
  readonly controlSeeds: number;
  readonly missed: readonly string[];
}

/** What a clean hunt should have exercised and has not, in words: then it proves nothing that it found nothing. */
export function missedBy(hunt: Hunt, total: Total, overlaps: number, controlSeeds: number): readonly string[] {
  if (!hunt.hasControl) return total.findings.length > 0 ? [] : missedTallies(hunt, total.tallies, total.seeds);
  const isBlind = overlaps * CONTROL_ONE_IN < controlSeeds;
  return [
    ...(total.findings.length > 0 ? [] : missedMinima(total.counts, total.seeds, total.hashes.size)),
    ...(isBlind
      ? [`control: ${overlaps} overlaps in ${controlSeeds} seeds, at least one in ${CONTROL_ONE_IN} was expected`]
      : []),
  ];
}

function totalAsJson(hunt: Hunt, from: number, total: Total, outcome: Outcome): string {
  const { seeds, events, counts, hashes, findings } = total;
  const tallied = hunt.minima === undefined ? {} : { tallies: total.tallies, missed: outcome.missed };
  const exercised = hunt.hasControl ? { counts, control: outcome } : tallied;
  const told = findings.map((finding) => ({ ...finding, replay: replayOf(hunt, finding.seed) }));
  return `${JSON.stringify({ name: hunt.name, from, seeds, events, traces: hashes.size, ...exercised, findings: told })}\n`;
}

function tellTotal(hunt: Hunt, from: number, total: Total, { overlaps, controlSeeds, missed }: Outcome): string {
  const { seeds, counts, hashes, findings } = total;
  const exercised = hunt.hasControl
    ? [
        `${hashes.size} distinct traces; exercised:`,
        ...Object.entries(counts).map(([name, count]) => `  ${name.padEnd(28)}${String(count).padStart(12)}`),
        `control: ${overlaps} overlaps in ${controlSeeds} seeds with clocks at twice the declared bound`,
      ]
    : Object.entries(total.tallies).map(([name, count]) => `  ${name.padEnd(36)}${String(count).padStart(12)}`);
  return [
    `${hunt.name}, seeds ${from}…${from + seeds - 1}`,
    ...exercised,
    ...findings.slice(0, SHOWN_MAX).flatMap((finding) => tellFinding(hunt, finding)),
    ...missed.map((line) => `too little: ${line}`),
    findings.length === 0 ? "no invariant was broken" : `${findings.length} of ${seeds} seeds broke an invariant`,
    "",
  ].join("\n");
}

function tellFinding(hunt: Hunt, { seed, invariant, story, atMs, label }: Finding): readonly string[] {
  const shrunk = shrink((options) => hunt.run(seed, options), {});
  const faults = shrunk?.faults ?? [];
  const drawn = hunt.faultsOf(seed);
  return [
    "",
    `BROKEN  ${invariant}, seed ${seed} (${label}) at ${atMs.toFixed(3)} ms`,
    `  ${story}`,
    `  replay:  ${replayOf(hunt, seed)}`,
    `  shrunk to ${faults.length} faults in ${shrunk?.runs ?? 0} runs:  ${replayOf(hunt, seed)} --faults ${faults.join(",") || "none"}`,
    ...faults.map((fault) => `    ${drawn.get(fault) ?? ""}`),
    "",
  ];
}

function replayOf({ name }: Hunt, seed: number): string {
  return `conclave sim --hunt ${name} --seed ${seed}`;
}
