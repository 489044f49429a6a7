// The mark of a schedule: what the memo of its key says. It names the last slot that need not be begun any more, and what became of it. A value; mark-text.ts has its text.
//
//   initial   no slot yet: those up to this instant were before the schedule's time
//   begun     its runner has begun, or was about to (mark "before"); nobody has noted its end
//   done      its work has resolved
//   failed    its work has rejected, while its term was held: the slot has had its run

export type MarkState = "initial" | "begun" | "done" | "failed";

export interface Mark {
  readonly slotMs: number;
  readonly state: MarkState;
  /** When it was written, by the clock of its writer. For people. */
  readonly atMs: number;
  /** The slot after it, by its writer's timetable. For people. */
  readonly nextMs: number | undefined;
}
