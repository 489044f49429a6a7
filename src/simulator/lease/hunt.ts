// One seed, one run, one result. The seed decides everything; `faults` runs the same world with only some of its faults, for shrinking.
import type { Counts } from "./counts.ts";
import type { WorldSpec } from "./spec.ts";
import { drawWorld, type SwarmOptions } from "./swarm.ts";
import type { LeaseEvent } from "./trace.ts";
import { type Violation, World } from "./world.ts";

export interface RunOptions extends SwarmOptions {
  /** Indices of the faults to keep; all of them if undefined. */
  readonly faults?: readonly number[] | undefined;
  /** Only these invariants judge; all of them if undefined. */
  readonly judgedBy?: readonly string[] | undefined;
  /** Writes down everything that happens. */
  readonly isRecorded?: boolean;
}

export interface RunResult {
  readonly seed: number;
  readonly spec: WorldSpec;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly counts: Readonly<Counts>;
  /** Empty unless recorded. */
  readonly trace: readonly LeaseEvent[];
}

export function runSeed(seed: number, options: RunOptions = {}): RunResult {
  const drawn = drawWorld(seed, options);
  const { faults } = options;
  const spec =
    faults === undefined ? drawn : { ...drawn, faults: drawn.faults.filter(({ index }) => faults.includes(index)) };
  return runWorld(spec, options.isRecorded ?? false, options.judgedBy);
}

export function runWorld(spec: WorldSpec, isRecorded: boolean, judgedBy?: readonly string[]): RunResult {
  const world = new World(spec, isRecorded, judgedBy);
  const violation = runToEnd(world);
  return {
    seed: spec.seed,
    spec,
    violation,
    hash: world.trace.hash.text(),
    counts: world.counts,
    trace: world.trace.events,
  };
}

/** An assertion that fails inside a machine is a finding like any other. */
function runToEnd(world: World): Violation | undefined {
  try {
    return world.run();
  } catch (error) {
    const story = error instanceof Error ? error.message : String(error);
    world.trace.record(world.kernel.nowMs, { type: "violation", invariant: "assertion", story });
    return { invariant: "assertion", story, atMs: world.kernel.nowMs };
  }
}
