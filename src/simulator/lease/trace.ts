// The events in the world of leases, as typed values, and each as a line to read. `who` is one life of one process, `c0.1` being the first life in slot 0.
import type { ConclaveEvent } from "../../lease/events.ts";
import type { Claimed } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { Trace } from "../kernel/trace.ts";
import type { LeaseFaultKind } from "./faults.ts";

/** An event in a world of leases. */
export type LeaseEvent = { readonly atMs: number } &
  /** A process sends a request to the store. */
  (
    | {
        readonly type: "request";
        readonly who: string;
        readonly slot: number;
        readonly errand: number;
        readonly method: Request["method"];
      }
    /** The store has carried a request out, and answers. */
    | {
        readonly type: "served";
        readonly who: string;
        readonly slot: number;
        readonly errand: number;
        readonly method: Request["method"];
        readonly answer: Answer;
      }
    /** A process has its answer; `unknown` when it has given up waiting. */
    | {
        readonly type: "answered";
        readonly who: string;
        readonly slot: number;
        readonly errand: number;
        readonly method: Request["method"];
        readonly kind: Answer["kind"];
      }
    /** The machine of a process reports this, as its user would hear it. */
    | { readonly type: "report"; readonly who: string; readonly slot: number; readonly event: ConclaveEvent }
    | {
        readonly type: "submission";
        readonly resource: string;
        readonly who: string;
        readonly token: bigint;
        readonly verdict: string;
      }
    | { readonly type: "fault"; readonly index: number; readonly kind: LeaseFaultKind; readonly who: string }
    /** There are no more faults from here on. */
    | { readonly type: "calm" }
    /** All other candidates withdraw. */
    | { readonly type: "alone"; readonly slot: number }
    | { readonly type: "violation"; readonly invariant: string; readonly story: string }
  );

export type LeaseTrace = Trace<LeaseEvent>;

/** Returns one line to read. */
export function formatLeaseEvent(event: LeaseEvent): string {
  const [who, what] = describe(event);
  return `${event.atMs.toFixed(3).padStart(12)}  ${who.padEnd(8)}  ${what}`;
}

function describe(event: LeaseEvent): readonly [who: string, what: string] {
  switch (event.type) {
    case "request":
      return [event.who, `sends ${event.method}`];
    case "served":
      return ["store", `${event.method} of ${event.who}: ${describeAnswer(event.answer)}`];
    case "answered":
      return [event.who, `${event.method} answered: ${event.kind}`];
    case "report":
      return [event.who, describeReport(event.event)];
    case "submission":
      return [event.resource, `a write of ${event.who} with token ${event.token}: ${event.verdict}`];
    case "fault":
      return ["nemesis", `fault ${event.index}: ${event.kind}, ${event.who}`];
    case "calm":
      return ["world", "calm: no more faults"];
    case "alone":
      return ["world", `all withdraw but candidate ${event.slot}`];
    case "violation":
      return ["VIOLATION", `${event.invariant}: ${event.story}`];
  }
}

function describeReport(event: ConclaveEvent): string {
  if (event.type === "error")
    return `error ${event.error.code}${event.election === undefined ? "" : ` for "${event.election}"`}`;
  const { type, ...rest } = event;
  return `${type} ${JSON.stringify(rest, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value))}`;
}

function describeAnswer(answer: Answer): string {
  if (answer.kind === "claimed") return answer.claimed.map(describeClaimed).join(", ");
  if (answer.kind === "seen")
    return answer.seats.map(({ name, state, version }) => `${name} ${state} ${version}`).join(", ");
  if (answer.kind !== "kept") return answer.kind;
  const notes = [
    ["lost", answer.lost.length],
    ["unsure", answer.unsure.length],
    ["strays", answer.strays.length],
  ] as const;
  return `kept${notes.map(([what, count]) => (count > 0 ? `, ${count} ${what}` : "")).join("")}`;
}

function describeClaimed(claimed: Claimed): string {
  if (claimed.kind === "granted") return `granted ${claimed.hold.name} with token ${claimed.hold.token?.value}`;
  return claimed.kind === "waiting" ? `waiting for ${claimed.hold.name}, ${claimed.ahead} ahead` : claimed.kind;
}
