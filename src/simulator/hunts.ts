// Everything that can be hunted, by name: the lease machine before its store, schedules, failovers, partitions, STONITH, and each protocol. Portions of seeds are plain data, so that threads can
// share the work.
import type { Hunted, HuntOptions } from "./kernel/hunt.ts";
import { addTallies, type Tallies } from "./kernel/tallies.ts";
import { FAILOVER_HUNT } from "./failover/hunt.ts";
import { addCounts, type Counts, emptyCounts } from "./lease/counts.ts";
import { describeFault } from "./lease/faults.ts";
import { runSeed } from "./lease/hunt.ts";
import { drawWorld } from "./lease/swarm.ts";
import { PARTITIONS_HUNT } from "./partitions/hunt.ts";
import { formatAction } from "./protocols/actions.ts";
import { drawHuntedWorld, huntProtocol } from "./protocols/hunt.ts";
import { SUBJECTS } from "./protocols/subjects/index.ts";
import { SCHEDULE_HUNT } from "./schedule/hunt.ts";
import { STONITH_HUNT } from "./stonith/hunt.ts";
import type { TraceEvent } from "./trace-event.ts";

/** How one seed of any hunt is run. */
export interface AnyHuntOptions extends HuntOptions {
  /** Clocks at twice the declared bound, where that is known to break something. Only the world of leases has such a control. */
  readonly isControl?: boolean;
}

/** One seed, of leases or of a protocol. */
export interface AnyHunted extends Hunted {
  readonly trace: readonly TraceEvent[];
  /** What the run has exercised; only the world of leases counts this way. */
  readonly counts?: Readonly<Counts>;
  /** The same for other worlds, by names of their own. */
  readonly tallies?: Tallies | undefined;
}

/** Something that is hunted: how a seed is run, and which faults it draws. */
export interface Hunt {
  readonly name: string;
  /** Whether a control run must find something, and the counts must reach the minima. */
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

/** Hunts that are not of a protocol. */
const OWN: readonly Hunt[] = [LEASE, SCHEDULE_HUNT, FAILOVER_HUNT, PARTITIONS_HUNT, STONITH_HUNT];

/** The names of those. */
export const OWN_HUNTS: readonly string[] = OWN.map(({ name }) => name);

/** The names of all hunts: leases, schedules, failovers, partitions, STONITH and every protocol. */
export function huntNames(): readonly string[] {
  return [...OWN_HUNTS, ...SUBJECTS.map(({ node }) => node.name)];
}

/** The hunt of that name. Running it throws a RangeError that lists the protocols if there is none. */
export function huntNamed(name: string): Hunt {
  const own = OWN.find((hunt) => hunt.name === name);
  if (own !== undefined) return own;
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
