// Everything that can be hunted, by name: the lease machine before its store, schedules, and each protocol. Portions of seeds are plain data, so that threads can
// share the work.
import type { Hunted, HuntOptions } from "./kernel/hunt.ts";
import { addCounts, type Counts, emptyCounts } from "./lease/counts.ts";
import { describeFault } from "./lease/faults.ts";
import { runSeed } from "./lease/hunt.ts";
import { drawWorld } from "./lease/swarm.ts";
import { formatAction } from "./protocols/actions.ts";
import { drawHuntedWorld, huntProtocol } from "./protocols/hunt.ts";
import { SUBJECTS } from "./protocols/subjects/index.ts";
import { huntSchedule } from "./schedule/hunt.ts";
import { describeScheduleFault, drawScheduleWorld } from "./schedule/spec.ts";
import { SCHEDULE_MINIMA } from "./schedule/tallies.ts";
import type { TraceEvent } from "./trace-event.ts";

/** How one seed of any hunt is run. */
export interface AnyHuntOptions extends HuntOptions {
  /** Clocks at twice the declared bound, where that is known to break something. Only the world of leases has such a control. */
  readonly isControl?: boolean;
}

/** One seed, of leases or of a protocol. */
export interface AnyHunted extends Hunted {
  readonly trace: readonly TraceEvent[];
  /** What it has exercised; the world of leases counts, others do not. */
  readonly counts?: Readonly<Counts>;
  /** The same of other worlds, by names of their own. */
  readonly tallies?: Tallies | undefined;
}

/** How often each thing happened, by names that a world has chosen. */
export type Tallies = Readonly<Record<string, number>>;

/** Something that is hunted: how a seed is run, and which faults it draws. */
export interface Hunt {
  readonly name: string;
  /** Whether a control run must find something, and what was exercised must reach the minima. */
  readonly hasControl: boolean;
  /** What a thousand seeds must have exercised, where the world has tallies. */
  readonly minima?: Tallies;
  run(seed: number, options?: AnyHuntOptions): AnyHunted;
  /** The faults that a seed draws, in words; by number. */
  faultsOf(seed: number, options?: AnyHuntOptions): ReadonlyMap<number, string>;
}

const LEASE: Hunt = {
  name: "lease",
  hasControl: true,
  run: runSeed,
  faultsOf: (seed, options = {}) =>
    new Map(drawWorld(seed, options).faults.map((fault) => [fault.index, describeFault(fault)])),
};

const SCHEDULE: Hunt = {
  name: "schedule",
  hasControl: false,
  minima: SCHEDULE_MINIMA,
  run: huntSchedule,
  faultsOf: (seed) =>
    new Map(drawScheduleWorld(seed).faults.map((fault) => [fault.index, describeScheduleFault(fault)])),
};

/** Hunts that are not of a protocol. */
export const OWN_HUNTS: readonly string[] = [LEASE.name, SCHEDULE.name];

/** The names of all hunts: leases, schedules and every protocol. */
export function huntNames(): readonly string[] {
  return [...OWN_HUNTS, ...SUBJECTS.map(({ node }) => node.name)];
}

/** The hunt of that name. Running it throws a RangeError that lists the protocols if there is none. */
export function huntNamed(name: string): Hunt {
  if (name === LEASE.name) return LEASE;
  if (name === SCHEDULE.name) return SCHEDULE;
  return {
    name,
    hasControl: false,
    run: (seed, options) => huntProtocol(name, seed, options),
    faultsOf: (seed) => {
      const { spec, faults } = drawHuntedWorld(name, seed);
      const drawn = spec.schedule.slice(0, faults);
      return new Map(
        drawn.map(({ atMs, action }, index) => [
          index,
          `fault ${index}: ${formatAction(action)} at ${atMs.toFixed(0)} ms`,
        ]),
      );
    },
  };
}

/** So many seeds of one hunt. */
export interface HuntOrder {
  readonly kind: "hunt";
  readonly name: string;
  readonly fromSeed: number;
  readonly count: number;
  readonly isControl: boolean;
  readonly judgedBy?: readonly string[] | undefined;
  readonly stopsAtFirst?: boolean;
}

/** A seed that broke an invariant. */
export interface Finding {
  readonly seed: number;
  readonly label: string;
  readonly invariant: string;
  readonly story: string;
  readonly atMs: number;
}

/** What a range of seeds has shown. */
export interface HuntReport {
  readonly seeds: number;
  readonly events: number;
  readonly counts: Readonly<Counts>;
  readonly tallies: Tallies;
  readonly hashes: readonly string[];
  readonly findings: readonly Finding[];
}

/** Runs seeds one after the other, and reports what was found. */
export function huntSeeds({ name, fromSeed, count, isControl, judgedBy, stopsAtFirst }: HuntOrder): HuntReport {
  const hunt = huntNamed(name);
  const counts = emptyCounts();
  const tallies: Record<string, number> = {};
  const hashes: string[] = [];
  const findings: Finding[] = [];
  let events = 0;
  for (let seed = fromSeed; seed < fromSeed + count; seed++) {
    const hunted = hunt.run(seed, { isControl, judgedBy });
    hashes.push(hunted.hash);
    events += hunted.events;
    if (hunted.counts !== undefined) addCounts(counts, hunted.counts);
    addTallies(tallies, hunted.tallies ?? {});
    if (hunted.violation === undefined) continue;
    findings.push({ seed, label: hunted.label, ...hunted.violation });
    if (stopsAtFirst === true) break;
  }
  return { seeds: hashes.length, events, counts, tallies, hashes, findings };
}

/** Adds `more` to `total`, name by name. */
export function addTallies(total: Record<string, number>, more: Tallies): void {
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count;
}

/** Of fewer than a thousand seeds nothing is expected. */
export function missedTallies({ minima = {} }: Hunt, tallies: Tallies, seeds: number): readonly string[] {
  if (seeds < 1000) return [];
  return Object.entries(minima)
    .filter(([name, least]) => (tallies[name] ?? 0) < (least * seeds) / 1000)
    .map(
      ([name, least]) => `${name}: ${tallies[name] ?? 0} in ${seeds} seeds, at least ${least} in 1000 were expected`,
    );
}
