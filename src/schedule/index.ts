// conclave/schedule: each slot once per fleet.
export {
  type Schedule,
  schedule,
  type ScheduleOptions,
  type ScheduleStatus,
  type SlotRun,
  type SlotWork,
} from "./schedule.ts";
export type { CronPattern, Every, Timetable, When } from "./when.ts";
