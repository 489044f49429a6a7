// One seed gives one run and one result. The seed decides everything; `faults` runs the same world with only some of its faults, for shrinking.
import type { Hunted, HuntOptions, Violation } from "../kernel/hunt.ts";
import type { Counts } from "./counts.ts";
import type { WorldSpec } from "./spec.ts";
import { drawWorld, type SwarmOptions } from "./swarm.ts";
import type { LeaseEvent } from "./trace.ts";
import { World } from "./world.ts";

/** The options for running one seed of leases. */
export interface RunOptions extends SwarmOptions, HuntOptions {}

/** The result of one seed of leases. */
export interface RunResult extends Hunted {
  readonly spec: WorldSpec;
  readonly counts: Readonly<Counts>;
  /** Empty unless recorded. */
  readonly trace: readonly LeaseEvent[];
}

/** Runs the world of leases that a seed draws, and judges it. */
export function runSeed(seed: number, options: RunOptions = {}): RunResult {
  const drawn = drawWorld(seed, options);
  const { faults } = options;
  const spec =
    faults === undefined ? drawn : { ...drawn, faults: drawn.faults.filter(({ index }) => faults.includes(index)) };
  return runWorld(spec, options.isRecorded ?? false, options.judgedBy);
}

/** Runs a world of leases to its end, and judges it. */
export function runWorld(spec: WorldSpec, isRecorded: boolean, judgedBy?: readonly string[]): RunResult {
  const world = new World(spec, isRecorded, judgedBy);
  const violation = runToEnd(world);
  return {
    seed: spec.seed,
    label: spec.label,
    spec,
    faults: spec.faults.map(({ index }) => index),
    violation,
    events: world.counts.events,
    hash: world.trace.hash.text(),
    counts: world.counts,
    trace: world.trace.events,
  };
}

/** The number of stack lines that an error records, in engines that have this setting. A machine makes thousands of errors here, and nobody reads their stacks. */
const stacks = Error as { stackTraceLimit?: number | undefined };

/** An assertion that fails inside a machine is a finding like any other. */
function runToEnd(world: World): Violation | undefined {
  const limit = stacks.stackTraceLimit;
  stacks.stackTraceLimit = 0;
  try {
    return world.run();
  } catch (error) {
    const story = error instanceof Error ? error.message : String(error);
    world.trace.record(world.kernel.nowMs, { type: "violation", invariant: "assertion", story });
    return { invariant: "assertion", story, atMs: world.kernel.nowMs };
  } finally {
    stacks.stackTraceLimit = limit;
  }
}
