// The state of a replica, both as one that promises and as one that others promise to, and the messages that replicas send to each other.
import type { Rng } from "../../base/rng.ts";
import type { Effects, NodeId } from "../node.ts";
import type { ReplicaMargins } from "./deadlines.ts";

/** The messages that nodes with a master lease send to each other. */
export type MasterLeaseMessage =
  /** Asks the receiver to promise, in this epoch, not to elect another. `isForced`: even if it is bound to another; the sender will wait until that promise is over. */
  | { readonly type: "ASK"; readonly epoch: number; readonly isForced: boolean }
  /** The replica promises. For `waitMs` of its clock another replica may still rely on an earlier promise of it. */
  | { readonly type: "GRANT"; readonly epoch: number; readonly waitMs: number }
  /** The replica does not promise: it is bound to another, or in epoch `seen`. */
  | { readonly type: "DENY"; readonly epoch: number; readonly seen: number }
  /** Sent only by a replica that a majority has promised to. `leads`: it has also waited long enough. */
  | { readonly type: "RENEW"; readonly epoch: number; readonly sequence: number; readonly leads: boolean }
  | { readonly type: "RENEWED"; readonly epoch: number; readonly sequence: number }
  /** The replica does not renew: it is in epoch `seen`. */
  | { readonly type: "STALE"; readonly seen: number }
  /** The sender will never use the promise that the receiver made in this epoch. */
  | { readonly type: "RELEASE"; readonly epoch: number };

/** `campaign`: ask for the lease, if it is not bound to another. `takeover`: ask for it although it is, and wait until that one's lease is over. */
export type MasterLeaseCommand = { readonly type: "campaign" } | { readonly type: "takeover" };

/** The promise that a replica has made. */
export interface Pledge {
  /** The epoch never falls, and is on disk before anybody hears of it. */
  epoch: number;
  /** NOBODY: the promise was released, or never given. */
  holder: NodeId;
  /** Until then, on this replica's clock, it elects nobody but `holder`. */
  until: number;
  /** Until then a replica other than `holder` may rely on an earlier promise. */
  othersUntil: number;
}

/** The data that survives a crash. Renewals are not written: a new life assumes that the last one was given just before the crash. */
export interface MasterLeaseImage {
  readonly epoch: number;
  readonly holder: NodeId;
}

/** Messages that wait until the promise is on disk. */
export type PendingPromise =
  | { readonly type: "ask"; readonly ticket: number; readonly epoch: number }
  | {
      readonly type: "grant";
      readonly ticket: number;
      readonly epoch: number;
      readonly to: NodeId;
      readonly waitMs: number;
    }
  | {
      readonly type: "renew";
      readonly ticket: number;
      readonly epoch: number;
      readonly to: NodeId;
      readonly sequence: number;
    };

/**
 *   preparing   has promised itself an epoch, which is not yet on disk
 *   asking      ASK is out
 *   waiting     a majority has promised; earlier leases may still run
 *   leading     is the master
 */
export type TenurePhase = "preparing" | "asking" | "waiting" | "leading";

/** One attempt, and the mastership that may come of it. Every attempt has an epoch of its own. */
export interface Tenure {
  phase: TenurePhase;
  readonly epoch: number;
  readonly isForced: boolean;
  /** The time when ASK was sent. */
  askedAt: number;
  /** Replica → the time of sending of the latest request that it has proven to have; −Infinity: none. */
  readonly keptAt: Float64Array;
  /** Replica → the time from which nobody else relies on it any more; Infinity: it has not granted. */
  readonly readyAt: Float64Array;
  readonly denied: Set<NodeId>;
  /** This replica may not lead before this time. */
  startsAt: number;
  /** This replica may not lead from this time on. */
  deadline: number;
  sequence: number;
  /** Sequence, modulo the length → the time when that RENEW was sent. */
  readonly sentAt: Float64Array;
}

/** The state of a node with a master lease. */
export interface MasterLeaseState {
  readonly id: NodeId;
  readonly peers: readonly NodeId[];
  readonly majority: number;
  readonly margins: ReplicaMargins;
  readonly renewEveryMs: number;
  readonly attemptMs: number;
  readonly spreadMs: number;
  readonly rng: Rng;
  readonly pledge: Pledge;
  /** The greatest epoch met. ≥ pledge.epoch. */
  seen: number;
  tenure: Tenure | undefined;
  ticket: number;
  readonly pending: PendingPromise[];
}

export type MasterLeaseEffects = Effects<MasterLeaseMessage, MasterLeaseImage>;

export const TIMERS: readonly string[] = ["stand", "attempt", "begin", "renew", "lapse"];
export const STAND = 0;
export const ATTEMPT = 1;
export const BEGIN = 2;
export const RENEW = 3;
export const LAPSE = 4;
