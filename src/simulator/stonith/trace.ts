// The events in a world of STONITH, as typed values, and each as a line to read.
import type { Stint } from "../../stonith/record.ts";
import type { StonithNews } from "../../stonith/state.ts";
import type { DeviceFate, StonithFaultKind } from "./spec.ts";

/** An event in a world of STONITH. */
export type StonithEvent = { readonly atMs: number; readonly type: "stonith" } & StonithHappening;

/** The same event without its time. */
export type StonithHappening =
  | { readonly is: "fault"; readonly index: number; readonly kind: StonithFaultKind }
  /** There are no more faults from here on. */
  | { readonly is: "calm" }
  | { readonly is: "granted"; readonly node: string; readonly token: number }
  /** The store has applied a ban of `target`, or its lift. */
  | { readonly is: "banned" | "lifted"; readonly node: string; readonly target: string }
  /** The store has ended the sessions of `target`, whose machine was verified to be off. */
  | { readonly is: "ends-sessions"; readonly node: string; readonly target: string }
  /** Guarded work begins, or has ended. */
  | { readonly is: "begins" | "ended"; readonly stint: Stint }
  | { readonly is: "off" | "on"; readonly node: string }
  /** The hardware watchdog resets the machine, which is off right after it. */
  | { readonly is: "reset"; readonly node: string }
  | { readonly is: "paused"; readonly node: string; readonly lastsMs: number }
  /** Only the process of the candidate was killed. */
  | { readonly is: "killed"; readonly node: string }
  /** An agent starts on `node`. */
  | { readonly is: "agent"; readonly node: string; readonly target: string; readonly fate: DeviceFate }
  | { readonly is: "resigned"; readonly node: string; readonly why: string }
  /** The machine of a candidate tells this, as its user would hear it. */
  | { readonly is: "news"; readonly node: string; readonly news: Exclude<StonithNews, { readonly is: "begun" }> }
  /** A human is on the way to the machine. */
  | { readonly is: "human-goes"; readonly node: string }
  | { readonly is: "human-says"; readonly node: string; readonly says: "off" | "quiet" | "on" };

/** Returns one line to read. */
export function formatStonithEvent(event: StonithEvent): string {
  const [who, what] = describe(event);
  return `${event.atMs.toFixed(3).padStart(10)}  ${who.padEnd(8)}  ${what}`;
}

function describe(event: StonithHappening): readonly [who: string, what: string] {
  switch (event.is) {
    case "fault":
      return ["fault", `${event.index}: ${event.kind}`];
    case "calm":
      return ["world", "from now on nothing fails"];
    case "granted":
      return [event.node, `is granted term ${event.token}`];
    case "banned":
      return [event.node, `bans ${event.target}`];
    case "lifted":
      return [event.node, `lifts the ban of ${event.target}`];
    case "ends-sessions":
      return [event.node, `ends the sessions of ${event.target}`];
    case "begins":
      return [event.stint.node, `begins the work of term ${event.stint.token}`];
    case "ended":
      return [event.stint.node, `the work of term ${event.stint.token} has ended`];
    case "off":
      return [event.node, "is off"];
    case "on":
      return [event.node, "is on again"];
    case "reset":
      return [event.node, "is reset by its watchdog"];
    case "paused":
      return [event.node, `is paused for ${event.lastsMs.toFixed(0)} ms`];
    case "killed":
      return [event.node, "its process is killed"];
    case "agent":
      return [event.node, `agent against ${event.target} (${event.fate})`];
    case "resigned":
      return [event.node, `resigns: ${event.why}`];
    case "news":
      return [event.node, describeNews(event.news)];
    case "human-goes":
      return ["human", `goes to ${event.node}`];
    case "human-says":
      return ["human", `says that ${event.node} is ${event.says}`];
  }
}

function describeNews(news: Exclude<StonithNews, { readonly is: "begun" }>): string {
  switch (news.is) {
    case "history":
      return `${news.entry.is} ${news.entry.node}: ${news.entry.said}`;
    case "waiting":
      return `waits: ${news.why}`;
    case "refused":
      return `may not shoot ${news.node}: ${news.why.join("; ")}`;
    case "shooting":
      return `decides to shoot ${news.node} (intent ${news.intent})`;
  }
}
