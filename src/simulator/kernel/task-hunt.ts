// The hunt in a world of tasks: one seed draws a world, its judge looks on, and an assertion that fails inside a machine is a finding like any other.
import type { Hunted, HuntOptions } from "./hunt.ts";
import type { Judge } from "./judge.ts";
import type { Kernel } from "./kernel.ts";
import type { Tallies } from "./tallies.ts";
import type { TaskSpec, TaskWorldOptions } from "./task-world.ts";
import type { Trace } from "./trace.ts";

/** One seed of such a world, run to its end. */
export interface TaskHunted<Event> extends Hunted {
  readonly trace: readonly Event[];
  readonly tallies: Tallies;
}

/** What a world must say to be hunted. */
export interface HuntedTaskWorld<Spec extends TaskSpec, Event extends { readonly atMs: number }> {
  readonly name: string;
  /** What a thousand seeds must have exercised. */
  readonly minima: Tallies;
  readonly draw: (seed: number) => Spec;
  readonly create: (spec: Spec, options: TaskWorldOptions) => RunningWorld<Event>;
  /** In a word or two, what was drawn. */
  readonly label: (spec: Spec) => string;
  readonly describeFault: (fault: Spec["faults"][number]) => string;
}

/** What the hunt sees of a world. */
interface RunningWorld<Event extends { readonly atMs: number }> {
  readonly kernel: Kernel;
  readonly judge: Judge;
  readonly trace: Trace<Event>;
  readonly tallies: Tallies;
  run(): void;
}

/** The hunt in one world of tasks, by name. */
export interface TaskHunt<Event> {
  readonly name: string;
  readonly hasControl: false;
  readonly minima: Tallies;
  run(seed: number, options?: HuntOptions): TaskHunted<Event>;
  /** The faults that a seed draws, in words; by number. */
  faultsOf(seed: number): ReadonlyMap<number, string>;
}

export function taskHunt<Spec extends TaskSpec, Event extends { readonly atMs: number }>(
  hunted: HuntedTaskWorld<Spec, Event>,
): TaskHunt<Event> {
  const { name, minima } = hunted;
  return {
    name,
    hasControl: false,
    minima,
    run: (seed, options) => huntTasks(hunted, seed, options),
    faultsOf: (seed) => new Map(hunted.draw(seed).faults.map((fault) => [fault.index, hunted.describeFault(fault)])),
  };
}

function huntTasks<Spec extends TaskSpec, Event extends { readonly atMs: number }>(
  { draw, create, label }: HuntedTaskWorld<Spec, Event>,
  seed: number,
  { faults: kept, judgedBy, isRecorded = false }: HuntOptions = {},
): TaskHunted<Event> {
  const drawn = draw(seed);
  const faults = drawn.faults.filter(({ index }) => kept?.includes(index) ?? true);
  const world = create({ ...drawn, faults }, { isRecorded, judgedBy });
  runToEnd(world);
  return {
    seed,
    label: label(drawn),
    violation: world.judge.violation,
    events: world.kernel.handled,
    hash: world.trace.hash.text(),
    faults: faults.map(({ index }) => index),
    trace: world.trace.events,
    tallies: world.tallies,
  };
}

function runToEnd(world: RunningWorld<{ readonly atMs: number }>): void {
  try {
    world.run();
  } catch (error) {
    world.judge.find("assertion", error instanceof Error ? error.message : String(error), world.kernel.nowMs);
  }
}
