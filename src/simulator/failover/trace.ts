// The events in a world of failovers, as typed values, and each as a line to read.
import type { GuardInput, GuardState } from "../../failover/guard-machine.ts";
import type { Step } from "../../failover/record.ts";
import type { FailoverNews } from "../../failover/state.ts";
import type { FailoverFaultKind } from "./spec.ts";

/** An event in a world of failovers. */
export type FailoverEvent = { readonly atMs: number; readonly type: "failover" } & FailoverHappening;

/** The same event without its time. */
export type FailoverHappening =
  | { readonly is: "fault"; readonly index: number; readonly kind: FailoverFaultKind }
  /** There are no more faults from here on. */
  | { readonly is: "calm" }
  /** The store has applied a record of this monitor. */
  | { readonly is: "written"; readonly monitor: string; readonly epoch: number; readonly step: Step }
  /** The machine of a monitor tells this, as its user would hear it. */
  | { readonly is: "news"; readonly monitor: string; readonly news: FailoverNews }
  /** The machine of a guard goes from one state to another; `by` is the input that made it do so. */
  | {
      readonly is: "guard";
      readonly guard: string;
      readonly from: GuardState["at"];
      readonly to: GuardState["at"];
      readonly by: GuardInput["type"];
    }
  | { readonly is: "writable" | "dead" | "powered-off"; readonly server: string }
  /** A monitor or a guard was killed or paused. */
  | { readonly is: "killed" | "paused"; readonly process: string };

/** Returns one line to read. */
export function formatFailoverEvent(event: FailoverEvent): string {
  const [who, what] = describe(event);
  return `${event.atMs.toFixed(3).padStart(10)}  ${who.padEnd(6)}  ${what}`;
}

function describe(event: FailoverHappening): readonly [who: string, what: string] {
  switch (event.is) {
    case "fault":
      return ["fault", `${event.index}: ${event.kind}`];
    case "calm":
      return ["world", "from now on nothing fails"];
    case "written":
      return [event.monitor, `writes epoch ${event.epoch}: ${JSON.stringify(event.step)}`];
    case "news":
      return [event.monitor, describeNews(event.news)];
    case "guard":
      return [event.guard, `${event.from} → ${event.to} (${event.by})`];
    case "writable":
      return [event.server, "is writable"];
    case "dead":
      return [event.server, "is dead"];
    case "powered-off":
      return [event.server, "is powered off"];
    case "killed":
      return [event.process, "is killed"];
    case "paused":
      return [event.process, "is paused"];
  }
}

function describeNews(news: FailoverNews): string {
  return news.is === "step" ? `epoch ${news.epoch}: ${JSON.stringify(news.step)}` : JSON.stringify(news);
}
