// What happens in a world of schedules, as typed events, and each as a line to read. `who` is the number of a process.
import type { SlotNews } from "../../schedule/machine.ts";
import type { Mark } from "../../schedule/mark.ts";
import type { MemoAnswer } from "../kernel/memo.ts";
import type { ScheduleFaultKind } from "./spec.ts";

/** What happened in a world of schedules, one event at a time. */
export type ScheduleEvent = { readonly atMs: number; readonly type: "schedule" } & ScheduleHappening;

/** The same without its time. */
export type ScheduleHappening =
  | { readonly is: "fault"; readonly who: number; readonly index: number; readonly kind: ScheduleFaultKind }
  /** No more faults from here on. */
  | { readonly is: "calm" }
  | { readonly is: "granted"; readonly who: number; readonly token: number }
  /** A term has asked the store to write a mark. */
  | {
      readonly is: "mark";
      readonly mark: Mark;
      readonly token: number;
      readonly n: number;
      readonly answer: MemoAnswer["is"];
    }
  /** What the machine of a process tells, as its user would hear it; `token` is of the term in which it does so. */
  | { readonly is: "news"; readonly who: number; readonly news: SlotNews; readonly token: number | undefined }
  /** At the end: how many slots ran, which were lost, which ran more than once. */
  | {
      readonly is: "slots";
      readonly ran: number;
      readonly lost: readonly number[];
      readonly repeated: readonly number[];
    };

/** One line to read. */
export function formatScheduleEvent(event: ScheduleEvent): string {
  const at = event.atMs.toFixed(3).padStart(10);
  if (event.is === "slots")
    return `${at}  slots: ${event.ran} ran; lost: ${list(event.lost)}; repeated: ${list(event.repeated)}`;
  return `${at}  ${"who" in event ? `p${event.who}` : "store"}  ${describe(event)}`;
}

function describe(event: Exclude<ScheduleHappening, { readonly is: "slots" }>): string {
  switch (event.is) {
    case "fault":
      return `fault ${event.index}: ${event.kind}`;
    case "calm":
      return "from now on nothing fails, and all clocks are right";
    case "granted":
      return `is granted term ${event.token}`;
    case "mark":
      return `mark ${event.mark.slotMs} ${event.mark.state} of term ${event.token}, n ${event.n}: ${event.answer}`;
    case "news":
      return `${Object.values(event.news).join(" ")}, token ${event.token ?? "-"}`;
  }
}

function list(slots: readonly number[]): string {
  return slots.length === 0 ? "none" : slots.join(" ");
}
