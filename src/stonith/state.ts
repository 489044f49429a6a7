// What the machine of a guarded election (machine.ts) is told, keeps, and asks for. Types only.
import type { Stepped } from "../base/stepped.ts";
import type { StonithOrder } from "./orders.ts";
import type { HistoryEntry, ShotOutcome, Stint, StonithRecord, Watchdog } from "./record.ts";

/** What one process of a guarded election knows before it stands. */
export interface StonithPlan {
  /** This node. It is never shot by this process. */
  readonly node: string;
  /** This process, by a text that no other process ever has. */
  readonly life: string;
  /** The configured nodes. A node that is not among them is never shot. */
  readonly members: readonly string[];
  /** Those of `members` that host a server of the store; empty if it is hosted elsewhere. */
  readonly storeMembers: readonly string[];
  /** Those of `members` that some device can power off. */
  readonly devices: readonly string[];
  /** At most so many nodes are off, or are to be off, at one time. */
  readonly maxOff: number;
  /** At most so many intents without an order within `windowMs`. */
  readonly shotsMax: number;
  readonly windowMs: number;
  /**
   * How long a term waits before its first intent, and up to `spreadMs` more. So of two nodes that would shoot each other one is first, and a term that
   * has lost its session can still say that its work has ended.
   */
  readonly delayMs: number;
  readonly spreadMs: number;
  /** The pause after a shot that has not led to a verified off. Doubled each time, up to `retryMaxMs`. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** After so many such shots the term is given up, so that another node may try its own way to the devices. */
  readonly attemptsMax: number;
  /** The watchdog of this node; only a hardware watchdog that is armed. */
  readonly watchdog: Watchdog | undefined;
  /** The process obeys orders and never begins work: `conclave stonith fence` while nobody leads. */
  readonly isOnlyForOrders: boolean;
}

export interface StonithMoment {
  /** By the monotonic clock. */
  readonly nowMs: number;
  /** By the wall clock, for the rate limit and the audit log alone. */
  readonly wallMs: number;
  /** From 0 to 1, drawn anew each time. */
  readonly random: number;
}

/** What a process says of itself outside of its term, in a memo of an election of its node. What it says stays true for ever. */
export interface Notes {
  /** The work of these terms is over, and nothing that it started acts on. */
  readonly settled: readonly Stint[];
  /** No agent of these terms runs, and none will be started, for that intent. */
  readonly gone: readonly (Stint & { readonly intent: string })[];
}

/** What is seen from time to time. */
export interface StonithSight {
  /** The notes of all members together. */
  readonly notes: Notes;
  readonly order: StonithOrder | undefined;
  /** Candidates in the same line that obey no bans. */
  readonly foreign: readonly string[];
}

/** How a shot has ended. */
export interface Ended {
  readonly outcome: ShotOutcome;
  /** What the devices said, for people, without secrets. */
  readonly said: string;
  /** No agent that this term has started for this intent runs any more, whichever shot it was started for. */
  readonly isGone: boolean;
}

export type StonithRequest =
  | { readonly is: "read" }
  | { readonly is: "write"; readonly record: StonithRecord }
  | { readonly is: "ban"; readonly node: string; readonly why: string }
  | { readonly is: "lift"; readonly node: string }
  | { readonly is: "end-sessions"; readonly node: string }
  | { readonly is: "look-home"; readonly stints: readonly Stint[] }
  | { readonly is: "look"; readonly nodes: readonly string[] };

export type WorkState = "waiting" | "begun" | "settled" | "resigned";

export interface Leading {
  readonly at: "leading";
  /** This term. */
  readonly me: Stint;
  /** What stands in the store, as this term has read or written it. */
  readonly record: StonithRecord;
  /** The request that has not been answered yet: there is one at a time. A shot is not such a request. */
  readonly asked: StonithRequest | undefined;
  readonly sight: StonithSight;
  /** The nodes whose ban this term has written, and when it was answered. */
  readonly bannedAtMs: Readonly<Record<string, number>>;
  /** Terms of this very node that the host was asked about, and those among them of which nothing is left. */
  readonly homeAsked: readonly Stint[];
  readonly homeGone: readonly Stint[];
  /** The shot under way. */
  readonly shot:
    | { readonly intent: string; readonly node: string; readonly errand: number; readonly isStopped: boolean }
    | undefined;
  /** What the last shot came to, until it stands in the record. */
  readonly ended: ({ readonly intent: string } & Ended) | undefined;
  /** Nodes whose device has said, in this term and since its own ban, that they are off, and whose sessions have not been ended. */
  readonly toEnd: readonly string[];
  /** Intents whose agents could not be ended with their shot, and are gone now. */
  readonly goneFor: readonly string[];
  /** The node whose ban was lifted, until its intent is out of the record. */
  readonly lifted: string | undefined;
  /** Nodes that were taken for off and are on, until that stands in the record. */
  readonly seenOn: readonly string[];
  readonly errand: number;
  /** Before this instant no intent is opened and no shot begins; undefined: the delay has not begun. */
  readonly aimAtMs: number | undefined;
  readonly failures: number;
  readonly work: WorkState;
  /** Before this instant no node is asked whether it is on again. */
  readonly lookAtMs: number;
  readonly wakeMs: number;
  /** What was told last: the same is not told twice in a row. */
  readonly told: string;
}

export type StonithState = { readonly at: "away" } | Leading;

export type StonithInput =
  /** A term was granted. */
  | { readonly type: "lead"; readonly token: string }
  /** It is ending, lost or given up: nothing more is asked for. */
  | { readonly type: "leave" }
  | { readonly type: "read"; readonly record: StonithRecord | undefined; readonly sight: StonithSight }
  /** The write, ban or lift that was asked for is committed. */
  | { readonly type: "written" }
  /** There was no answer to the request, or one that is not known to be a no: the request is made again. */
  | { readonly type: "unanswered" }
  | { readonly type: "home"; readonly gone: readonly Stint[] }
  | { readonly type: "looked"; readonly on: readonly string[] }
  | { readonly type: "seen"; readonly sight: StonithSight }
  | ({ readonly type: "shot"; readonly errand: number } & Ended)
  /** Agents that could not be ended with their shot are all gone now. */
  | { readonly type: "gone"; readonly intent: string }
  /** The work has ended, and nothing of it acts any more. */
  | { readonly type: "settled" }
  | { readonly type: "tick" };

export type StonithEffect =
  /** Read the record, the notes of all members and the order; answer with `read` or `unanswered`. The read follows the grant and is linearizable. */
  | { readonly type: "read" }
  /** Write it over what stands; answer with `written` or `unanswered`. An answer of a lost term is `leave`. */
  | { readonly type: "write"; readonly record: StonithRecord }
  | { readonly type: "ban"; readonly node: string; readonly why: string }
  | { readonly type: "lift"; readonly node: string }
  /** End the sessions of this node, which this term has banned, and which was verified to be off since; answer as for a write. If the store refuses, the sessions run out instead. */
  | { readonly type: "end-sessions"; readonly node: string }
  /** Of which of these processes on this node is nothing left? Answer with `home`. Processes for which that cannot be proved are left out. */
  | { readonly type: "look-home"; readonly stints: readonly Stint[] }
  /** Which of these nodes are on? Answer with `looked`. */
  | { readonly type: "look"; readonly nodes: readonly string[] }
  /** Power `node` off and ask whether it is off; answer with `shot`. Before each start of an agent the host asks `mayShoot`, and agents are killed before the term's deadline. */
  | { readonly type: "shoot"; readonly node: string; readonly intent: string; readonly errand: number }
  /** End the agents of the shot now; its answer comes as `shot`. */
  | { readonly type: "stop-shot" }
  /** The guarded work may begin. */
  | { readonly type: "begin" }
  /** Give the term up. */
  | { readonly type: "resign"; readonly why: string }
  | { readonly type: "tell"; readonly news: StonithNews };

/** What happens, for those who watch. */
export type StonithNews =
  | { readonly is: "history"; readonly entry: HistoryEntry }
  /** The takeover waits, and why. */
  | { readonly is: "waiting"; readonly why: string }
  /** A rule forbids the shot: a human has to confirm that the node is off, or something has to change. */
  | { readonly is: "refused"; readonly node: string; readonly why: readonly string[] }
  | { readonly is: "shooting"; readonly node: string; readonly intent: string }
  | { readonly is: "begun" };

export type StonithStepped = Stepped<StonithState, StonithEffect>;
