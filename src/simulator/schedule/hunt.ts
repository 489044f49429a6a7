// The hunt for schedules: one seed draws a world (spec.ts), the judge looks on.
import { type TaskHunt, taskHunt } from "../kernel/task-hunt.ts";
import { describeScheduleFault, drawScheduleWorld } from "./spec.ts";
import { SCHEDULE_MINIMA } from "./tallies.ts";
import type { ScheduleEvent } from "./trace.ts";
import { ScheduleWorld } from "./world.ts";

export const SCHEDULE_HUNT: TaskHunt<ScheduleEvent> = taskHunt({
  name: "schedule",
  minima: SCHEDULE_MINIMA,
  draw: drawScheduleWorld,
  create: (spec, options) => new ScheduleWorld(spec, options),
  label: ({ plan, wallOffsetsMs }) => `mark ${plan.mark}, missed ${plan.missed}, ${wallOffsetsMs.length} processes`,
  describeFault: describeScheduleFault,
});
