// What the machine of the leader of the monitors (machine.ts) is told, keeps, and asks for. Types only.
import type { StonithPlan } from "../stonith/words.ts";
import type { ChoiceRule, Views } from "./choice.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord, Step } from "./record.ts";

export interface FailoverPlan extends ChoiceRule {
  /** So many configured monitors must see the primary down. */
  readonly quorum: number;
  readonly monitors: readonly string[];
  /** Guards stand beside the servers and hold the seat. Without them this leader promotes and repoints. */
  readonly hasGuards: boolean;
  /** Devices that power machines off, and the rules for it; undefined: there are none. */
  readonly shots: ShotRules | undefined;
  /** Commits wait for so many standbys; 0: they do not wait. */
  readonly confirmations: number;
  /** At most so many automatic failovers within `windowMs`. */
  readonly failoversMax: number;
  readonly windowMs: number;
  /** How long a survey waits for those that do not answer. */
  readonly settleMs: number;
  readonly promoteWithinMs: number;
  readonly repointWithinMs: number;
  readonly handOverWithinMs: number;
  /** What failed is tried again after so long. */
  readonly retryMs: number;
  /** Decides and tells, and changes nothing. */
  readonly isDryRun: boolean;
}

/** When a machine may be powered off. */
export interface ShotRules {
  /** By the name of each server: the machine that it runs on. */
  readonly nodes: Readonly<Record<string, string>>;
  /** Nobody is replaced without a verified device, even where guards hold the seat: for hosts that may be suspended as a whole. */
  readonly isRequired: boolean;
  /** The limits of STONITH. `node` is the machine of this monitor, which it never shoots. */
  readonly limits: StonithPlan;
}

/** What came of a shot. Only `verified` is a fence: the device was asked after its order, and says that the machine is off. */
export interface FenceReport {
  readonly outcome: "verified" | "failed" | "unknown";
  /** One sentence, for the record and for people. */
  readonly said: string;
}

export interface Moment {
  /** Monotonic. */
  readonly nowMs: number;
  /** For the rate limit alone. */
  readonly wallMs: number;
}

/** What one configured monitor says, as long as its session lives. */
export interface MonitorVote {
  readonly monitor: string;
  readonly primary: string;
  readonly epoch: number;
}

/** What is seen from time to time, without being asked for. */
export interface Sight {
  readonly views: Views;
  /** Of monitors whose seat is held now: those that see the primary down. */
  readonly votes: readonly MonitorVote[];
  /** Who holds the seat `primary/NAME`, and says that it is the primary. A hint. */
  readonly holder: { readonly server: string; readonly epoch: number } | undefined;
  readonly order: Order | undefined;
}

export type FailoverState =
  | { readonly at: "away" }
  | { readonly at: "reading" }
  | { readonly at: "writing"; readonly record: FailoverRecord; readonly errand: number; readonly vain: number }
  | Acting;

export interface Acting {
  readonly at: "acting";
  readonly record: FailoverRecord;
  /** When this term came to this step. */
  readonly sinceMs: number;
  /** The number of the last effect that is answered; an answer with another number is of the past. */
  readonly errand: number;
  /** When to try again, or to give up; Infinity: only when something happens. */
  readonly wakeMs: number;
  /** What was told last: the same is not told twice in a row. */
  readonly told: string;
  /** How many shots of this term at the machine that is being fenced have not led to a verified off. */
  readonly vain: number;
  /** What this term has heard of its last shot, until it stands in the record. */
  readonly heard: FenceReport | undefined;
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
  /** Read what stands; answer with `read` or `unanswered`. */
  | { readonly type: "read" }
  /** Write it over what stands; answer with `written` or `unanswered`. An answer of a lost term is `leave`. */
  | { readonly type: "write"; readonly record: FailoverRecord }
  /** Stand for the seat `primary/NAME` until it is granted; answer with `seat-taken`. */
  | { readonly type: "take-seat"; readonly errand: number }
  /** Release it, or stop standing for it. */
  | { readonly type: "give-seat" }
  /** Power the machine of `server` off and verify it; answer with `fenced`. Before each start of an agent the host asks `mayShoot` (shots.ts) with a record that it has just read, then the term by the clock. */
  | { readonly type: "fence"; readonly server: string; readonly errand: number }
  /** Ask every server now; answer with `surveyed`. */
  | { readonly type: "survey"; readonly errand: number }
  /** Without guards only. What came of it is seen. */
  | { readonly type: "promote"; readonly server: string }
  | { readonly type: "hand-over"; readonly from: string; readonly to: string }
  | { readonly type: "follow"; readonly server: string; readonly primary: string }
  /** Give the term up, and let another monitor lead. */
  | { readonly type: "resign" }
  | { readonly type: "tell"; readonly news: FailoverNews };

/** What happens, for those who watch. */
export type FailoverNews =
  | { readonly is: "objectively-down"; readonly server: string; readonly votes: readonly string[] }
  | { readonly is: "step"; readonly epoch: number; readonly step: Step }
  | { readonly is: "waiting"; readonly why: string }
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "powered-off"; readonly server: string; readonly said: string }
  | {
      readonly is: "not-fenced";
      readonly server: string;
      readonly outcome: "failed" | "unknown";
      readonly said: string;
    }
  | { readonly is: "would-choose"; readonly server: string | undefined; readonly why: string }
  | { readonly is: "chosen"; readonly server: string; readonly position: number; readonly why: string }
  /** Without a fence: a server that was replaced has written on. */
  | {
      readonly is: "two-writable";
      readonly servers: readonly string[];
      /** Bytes of the stream of writes that only this server has, at least: they are gone when it follows the primary. A server of which nobody knows is not listed. */
      readonly lost: Readonly<Record<string, number>>;
    };

export interface Stepped {
  readonly state: FailoverState;
  readonly effects: readonly FailoverEffect[];
}
