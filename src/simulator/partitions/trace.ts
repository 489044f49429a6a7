// What happens in a world of partitions, as typed events, and each as a line to read. `who` is the number of a process.
import type { Revision } from "../../partitions/revision.ts";
import type { MemoAnswer } from "../kernel/memo.ts";
import type { PartitionFaultKind } from "./spec.ts";

/** What happened in a world of partitions, one event at a time. */
export type PartitionEvent = { readonly atMs: number; readonly type: "partitions" } & PartitionHappening;

/** The same without its time. */
export type PartitionHappening =
  | { readonly is: "fault"; readonly who: number; readonly index: number; readonly kind: PartitionFaultKind }
  /** No more faults from here on. */
  | { readonly is: "calm" }
  /** In the calm one more process dies. */
  | { readonly is: "last-death"; readonly who: number }
  /** `seat` is the number of the member whose seat it is: a controller may take it for the proof that the member's session is over. */
  | { readonly is: "granted"; readonly who: number; readonly seat: number; readonly token: number }
  | { readonly is: "controller"; readonly who: number; readonly token: number }
  /** A controller has asked the store to write a chunk. */
  | {
      readonly is: "chunk";
      readonly index: number;
      readonly token: number;
      readonly n: number;
      readonly answer: MemoAnswer["is"];
    }
  /** The work of a partition begins. */
  | { readonly is: "begins"; readonly who: number; readonly partition: number; readonly epoch: Revision };

/** One line to read. */
export function formatPartitionEvent(event: PartitionEvent): string {
  const who = "who" in event ? `m${event.who}` : "store";
  return `${event.atMs.toFixed(3).padStart(10)}  ${who}  ${describe(event)}`;
}

function describe(event: PartitionHappening): string {
  switch (event.is) {
    case "fault":
      return `fault ${event.index}: ${event.kind}`;
    case "calm":
      return "from now on nothing fails";
    case "last-death":
      return "is killed in the calm";
    case "granted":
      return `is granted seat ${event.seat}, token ${event.token}`;
    case "controller":
      return `is the controller, token ${event.token}`;
    case "chunk":
      return `chunk ${event.index} of controller ${event.token}, n ${event.n}: ${event.answer}`;
    case "begins":
      return `begins ${event.partition} at ${event.epoch.term.token}.${event.epoch.n}`;
  }
}
