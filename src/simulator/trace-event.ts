// One typed union of what happens in all worlds; text and JSON are made from it.
import { type FailoverEvent, formatFailoverEvent } from "./failover/trace.ts";
import { formatLeaseEvent, type LeaseEvent } from "./lease/trace.ts";
import { formatPartitionEvent, type PartitionEvent } from "./partitions/trace.ts";
import { formatProtocolEvent, type ProtocolEvent } from "./protocols/trace.ts";
import { formatStonithEvent, type StonithEvent } from "./stonith/trace.ts";
import { formatScheduleEvent, type ScheduleEvent } from "./schedule/trace.ts";

/** What happened in a world of any kind. */
export type TraceEvent = LeaseEvent | ProtocolEvent | ScheduleEvent | FailoverEvent | PartitionEvent | StonithEvent;

const OF_LEASES: ReadonlySet<string> = new Set<LeaseEvent["type"]>([
  "request",
  "served",
  "answered",
  "report",
  "submission",
  "fault",
  "calm",
  "alone",
]);

/** One line to read; undefined for an action, which the reader has just typed. */
export function formatEvent(event: TraceEvent): string | undefined {
  if (event.type === "schedule") return formatScheduleEvent(event);
  if (event.type === "failover") return formatFailoverEvent(event);
  if (event.type === "partitions") return formatPartitionEvent(event);
  if (event.type === "stonith") return formatStonithEvent(event);
  return isOfLeases(event) ? formatLeaseEvent(event) : formatProtocolEvent(event);
}

function isOfLeases(event: TraceEvent): event is Exclude<LeaseEvent, { readonly type: "violation" }> {
  return OF_LEASES.has(event.type);
}

/** One line of JSON, with large whole numbers as text. */
export function eventAsJson(event: TraceEvent): string {
  return JSON.stringify(event, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
