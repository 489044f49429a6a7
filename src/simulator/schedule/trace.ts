// What happens in a world of schedules, as typed events.

export type ScheduleEvent =
  | { readonly atMs: number; readonly type: "schedule"; readonly who: number | undefined; readonly what: string }
  | {
      readonly atMs: number;
      readonly type: "slots";
      readonly ran: number;
      readonly lost: readonly number[];
      readonly repeated: readonly number[];
    };

export function formatScheduleEvent(event: ScheduleEvent): string {
  const at = event.atMs.toFixed(3).padStart(10);
  if (event.type === "schedule") return `${at}  ${event.who === undefined ? "store" : `p${event.who}`}  ${event.what}`;
  const list = (slots: readonly number[]): string => (slots.length === 0 ? "none" : slots.join(" "));
  return `${at}  slots: ${event.ran} ran; lost: ${list(event.lost)}; repeated: ${list(event.repeated)}`;
}
