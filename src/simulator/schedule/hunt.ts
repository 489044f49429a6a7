// The hunt for schedules: one seed draws a world (spec.ts), the judge looks on.
import type { Hunted, HuntOptions } from "../kernel/hunt.ts";
import { drawScheduleWorld } from "./spec.ts";
import type { ScheduleTallies } from "./tallies.ts";
import type { ScheduleEvent } from "./trace.ts";
import { ScheduleWorld } from "./world.ts";

export interface ScheduleHunted extends Hunted {
  readonly trace: readonly ScheduleEvent[];
  readonly tallies: Readonly<ScheduleTallies>;
}

export function huntSchedule(seed: number, options: HuntOptions = {}): ScheduleHunted {
  const drawn = drawScheduleWorld(seed);
  const faults = drawn.faults.filter(({ index }) => options.faults?.includes(index) ?? true);
  const { isRecorded = false, judgedBy } = options;
  const world = new ScheduleWorld({ ...drawn, faults }, { isRecorded, judgedBy });
  runToEnd(world);
  const { plan, wallOffsetsMs } = drawn;
  return {
    seed,
    label: `mark ${plan.mark}, missed ${plan.missed}, ${wallOffsetsMs.length} processes`,
    violation: world.judge.violation,
    events: world.kernel.handled,
    hash: world.trace.hash.text(),
    faults: faults.map(({ index }) => index),
    trace: world.trace.events,
    tallies: world.tallies,
  };
}

/** An assertion that fails inside the machine is a finding like any other. */
function runToEnd(world: ScheduleWorld): void {
  try {
    world.run();
  } catch (error) {
    world.judge.find("assertion", error instanceof Error ? error.message : String(error), world.nowMs);
  }
}
