// The inputs, the state and the effects of the machine of the leader of the monitors (machine.ts). Types only.
import type { Stepped } from "../base/stepped.ts";
import type { StonithPlan } from "../stonith/state.ts";
import type { ChoiceRule, Views } from "./choice.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord, Step } from "./record.ts";
import type { SightReports } from "./yielding.ts";

export interface FailoverPlan extends ChoiceRule {
  /** How many configured monitors must see the primary down. */
  readonly quorum: number;
  readonly monitors: readonly string[];
  /** Guards stand beside the servers and hold the seat. Without them, this leader promotes servers and tells them which one to follow. */
  readonly hasGuards: boolean;
  /** The devices that power machines off, and the rules for them. Undefined if there are none. */
  readonly shots: ShotRules | undefined;
  /** How many standbys a commit waits for; 0 if commits do not wait. */
  readonly confirmations: number;
  /** The greatest number of automatic failovers within `windowMs`. */
  readonly failoversMax: number;
  readonly windowMs: number;
  /** How long a survey waits for servers that do not answer. */
  readonly settleMs: number;
  readonly promoteWithinMs: number;
  readonly repointWithinMs: number;
  readonly handOverWithinMs: number;
  /** How long a leader that does not see enough servers for a choice waits before it lets a monitor lead that does. */
  readonly yieldAfterMs: number;
  /** The pause before a failed step is tried again. */
  readonly retryMs: number;
  /** The leader decides and reports, and changes nothing. */
  readonly isDryRun: boolean;
}

/** The rules for when a machine may be powered off. */
export interface ShotRules {
  /** For the name of each server: the machine that it runs on. */
  readonly nodes: Readonly<Record<string, string>>;
  /** No server is replaced without a verified device, even where guards hold the seat: for hosts that may be suspended as a whole. */
  readonly isRequired: boolean;
  /** The limits of STONITH. `node` is the machine of this monitor, which it never shoots. */
  readonly limits: StonithPlan;
}

/** The outcome of a shot. Only `verified` is a fence: the device was asked after its order, and says that the machine is off. */
export interface FenceReport {
  readonly outcome: "verified" | "failed" | "unknown";
  /** One sentence, for the record and for people. */
  readonly said: string;
}

export interface FailoverMoment {
  /** By the monotonic clock. */
  readonly nowMs: number;
  /** By the wall clock, which is used only for the rate limit. */
  readonly wallMs: number;
}

/** The vote of one configured monitor. It counts as long as the session of the monitor lives. */
export interface MonitorVote {
  readonly monitor: string;
  readonly primary: string;
  readonly epoch: number;
}

/** The facts that are seen from time to time, without being asked for. */
export interface Sight {
  readonly views: Views;
  /** For each server that answers: when it was asked the question that `views` has the answer to, by the monotonic clock. */
  readonly askedAtMs: Readonly<Record<string, number>>;
  /** The votes of monitors whose seat is held now and that see the primary down. */
  readonly votes: readonly MonitorVote[];
  /** The server whose guard holds the seat `primary/NAME` and says that its server is the primary. This is only a hint. */
  readonly holder: { readonly server: string; readonly epoch: number } | undefined;
  readonly order: Order | undefined;
  /** The servers that answer other monitors. This is only a hint. */
  readonly reports: SightReports;
}

export type FailoverState =
  | { readonly at: "away" }
  | { readonly at: "reading" }
  | {
      readonly at: "writing";
      readonly record: FailoverRecord;
      readonly errand: number;
      readonly vain: number;
      /** When the record is stored, the term is given up. */
      readonly isYielding: boolean;
      readonly strays?: readonly string[] | undefined;
    }
  | Acting;

export interface Acting {
  readonly at: "acting";
  readonly record: FailoverRecord;
  /** The time at which this term came to this step. */
  readonly sinceMs: number;
  /** The number of the last effect that expects an answer. An answer with another number belongs to the past. */
  readonly errand: number;
  /** The time at which to try again, or to give up. With Infinity, nothing is done until something happens. */
  readonly wakeMs: number;
  /** The last news: the same news is not reported twice in a row. */
  readonly told: string;
  /** How many shots of this term at the machine that is being fenced have not led to a verified power-off. */
  readonly vain: number;
  /** The outcome of the last shot of this term, until it is written to the record. */
  readonly heard: FenceReport | undefined;
  /** The answers of the last survey, if too few servers answered for a choice although they were waited for. */
  readonly missed: Views | undefined;
  /** The strays that were told of, each with its history (strays.ts). */
  readonly strays?: readonly string[] | undefined;
}

export type FailoverInput =
  | { readonly type: "lead" }
  | { readonly type: "leave" }
  | { readonly type: "read"; readonly record: FailoverRecord | undefined }
  | { readonly type: "written" }
  | { readonly type: "unanswered" }
  | { readonly type: "seat-taken"; readonly errand: number }
  | ({ readonly type: "fenced"; readonly errand: number } & FenceReport)
  | { readonly type: "surveyed"; readonly errand: number; readonly views: Views }
  | { readonly type: "seen"; readonly sight: Sight }
  | { readonly type: "tick" };

export type FailoverEffect =
  /** Read the stored record; answer with `read` or `unanswered`. */
  | { readonly type: "read" }
  /** Write this record over the stored one; answer with `written` or `unanswered`. An answer of a lost term is `leave`. */
  | { readonly type: "write"; readonly record: FailoverRecord }
  /** Stand for the seat `primary/NAME` until it is granted; answer with `seat-taken`. */
  | { readonly type: "take-seat"; readonly errand: number }
  /** Release the seat, or stop standing for it. */
  | { readonly type: "give-seat" }
  /** Power the machine of `server` off and verify it; answer with `fenced`. Before each start of an agent, the host asks `mayShoot` (shots.ts) with a record that it has just read, and then asks the term by the clock. */
  | { readonly type: "fence"; readonly server: string; readonly errand: number }
  /** Ask every server now; answer with `surveyed`. */
  | { readonly type: "survey"; readonly errand: number }
  /** Promote the server; only without guards. The result is seen later, as a sight. */
  | { readonly type: "promote"; readonly server: string }
  | { readonly type: "hand-over"; readonly from: string; readonly to: string }
  /** Tell the server to follow the primary. Right before that, the host asks `mayTakeBack` (strays.ts) with a record that it has read after the server answered, and then asks the term by the clock. */
  | { readonly type: "follow"; readonly server: string; readonly primary: string }
  /** Give the term up, and let another monitor lead. */
  | { readonly type: "resign" }
  | { readonly type: "tell"; readonly news: FailoverNews };

/** The news for people who watch. */
export type FailoverNews =
  | { readonly is: "objectively-down"; readonly server: string; readonly votes: readonly string[] }
  | { readonly is: "step"; readonly epoch: number; readonly step: Step }
  | { readonly is: "waiting"; readonly why: string }
  | { readonly is: "refused"; readonly why: string }
  /** This leader gives its term up for `to`, which sees more servers. The next leader waits for at least `pauseMs` before it gives up in its turn. */
  | { readonly is: "yields"; readonly to: string; readonly why: string; readonly pauseMs: number }
  | { readonly is: "powered-off"; readonly server: string; readonly said: string }
  | {
      readonly is: "not-fenced";
      readonly server: string;
      readonly outcome: "failed" | "unknown";
      readonly said: string;
    }
  | { readonly is: "would-choose"; readonly server: string | undefined; readonly why: string }
  | { readonly is: "chosen"; readonly server: string; readonly position: number; readonly why: string }
  /** The record names the first of `servers` as the primary, and the others take writes beside it: nothing has fenced them, or they were started or promoted beside their guard. */
  | {
      readonly is: "two-writable";
      readonly servers: readonly string[];
      /** How many bytes of the stream of writes only this server has, at least. They are lost when it follows the primary. A server for which this is unknown is not listed. */
      readonly lost: Readonly<Record<string, number>>;
    };

export type FailoverStepped = Stepped<FailoverState, FailoverEffect>;
