// What a ZAB peer knows, and what peers say to each other. Names follow the paper (Junqueira, Reed, Serafini 2011) for discovery and synchronisation, and
// ZooKeeper for the election.
import type { Effects, NodeId } from "../node.ts";

/** LOOKING, FOLLOWING and LEADING. */
export type PeerState = "looking" | "following" | "leading";

/** For whom, and why: the history that the candidate had when it was proposed. */
export interface Vote {
  readonly leader: NodeId;
  readonly zxid: number;
  /** ZooKeeper's electionEpoch: the number of the election, not of a reign. */
  readonly round: number;
  /** The candidate's currentEpoch; when it leads, the epoch that it has established. */
  readonly peerEpoch: number;
}

/** A vote, and what the peer that cast it was doing. */
export interface Notification extends Vote {
  readonly type: "NOTIFICATION";
  readonly state: PeerState;
}

/** What nodes of ZooKeeper's election send to each other. */
export type ZabMessage =
  | Notification
  /** To the elected: the epoch I have accepted. */
  | { readonly type: "CEPOCH"; readonly acceptedEpoch: number }
  /** From the elected: accept this epoch, which is greater than a quorum's. */
  | { readonly type: "NEWEPOCH"; readonly epoch: number }
  /** Accepted, and on disk. `counts`: for this leader and no other; else the epoch was accepted before, for somebody. */
  | {
      readonly type: "ACKEPOCH";
      readonly epoch: number;
      readonly currentEpoch: number;
      readonly zxid: number;
      readonly counts: boolean;
    }
  /** A quorum has accepted: take this history. */
  | { readonly type: "NEWLEADER"; readonly epoch: number; readonly zxid: number }
  /** Taken, and on disk. */
  | { readonly type: "ACKLEADER"; readonly epoch: number }
  /** A quorum has taken it: the epoch is established. */
  | { readonly type: "UPTODATE"; readonly epoch: number }
  | { readonly type: "PING"; readonly epoch: number }
  | { readonly type: "PONG"; readonly epoch: number };

/** Look for a leader, no matter which; the same, if this peer follows the member `node`. */
export type ZabCommand = { readonly type: "campaign" } | { readonly type: "suspect"; readonly node: NodeId };

/** What outlives a crash. currentEpoch ≤ acceptedEpoch, and neither falls. */
export interface ZabImage {
  /** The greatest epoch that this peer has agreed to enter. */
  readonly acceptedEpoch: number;
  /** The epoch of the leader whose history this peer has. */
  readonly currentEpoch: number;
  /** The last transaction of its history, which stands for all of it. */
  readonly zxid: number;
}

/** What waits for a write. */
export type ZabPending =
  | { readonly type: "promise"; readonly ticket: number; readonly leader: NodeId; readonly epoch: number }
  | { readonly type: "history"; readonly ticket: number; readonly leader: NodeId; readonly epoch: number };

/**
 *   gathering        waits for CEPOCH of a quorum
 *   choosing         has an epoch, which is not yet on its own disk
 *   proposing        NEWEPOCH is out; waits for ACKEPOCH of a quorum
 *   synchronising    NEWLEADER is out; waits for ACKLEADER of a quorum
 *   established      leads
 */
export type ReignPhase = "gathering" | "choosing" | "proposing" | "synchronising" | "established";

/** What a peer that was elected knows. */
export interface Reign {
  phase: ReignPhase;
  /** 0 until chosen. */
  epoch: number;
  /** Whose votes elected it. */
  readonly electors: Set<NodeId>;
  /** Peer → the epoch it had accepted when it came. */
  readonly joined: Map<NodeId, number>;
  readonly accepted: Set<NodeId>;
  readonly synced: Set<NodeId>;
  /** Synced peer → when it was last heard. */
  readonly heardAt: Map<NodeId, number>;
}

export interface Timing {
  readonly finalizeWaitMs: number;
  readonly minNotificationMs: number;
  readonly maxNotificationMs: number;
  readonly tickMs: number;
  readonly initLimitMs: number;
  readonly syncLimitMs: number;
}

/** What a node of ZooKeeper's election knows. */
export interface ZabState {
  readonly id: NodeId;
  readonly voters: readonly NodeId[];
  /** Peer → 1 or 0. */
  readonly weights: ReadonlyMap<NodeId, number>;
  readonly timing: Timing;
  acceptedEpoch: number;
  currentEpoch: number;
  zxid: number;
  /** For whom acceptedEpoch was accepted, where that was in this life. */
  acceptedFor: NodeId;
  mode: PeerState;
  /** ZooKeeper's logicalclock. Not durable: a new life begins with 0, and learns. */
  round: number;
  /** While looking, what it proposes; afterwards, its current vote. vote.round = round. */
  vote: Vote;
  /** What was heard in this round. */
  readonly received: Map<NodeId, Notification>;
  /** What those said who do not look, of whatever round: ZooKeeper's outofelection. */
  readonly settled: Map<NodeId, Notification>;
  /** A quorum agrees; it waits in case something better comes. */
  isFinalizing: boolean;
  /** Peers for which the last wait was started anew. */
  readonly waitedFor: Set<NodeId>;
  /** Until the next notifications, if nothing is heard. Doubles. */
  resendMs: number;
  /** While leading. */
  reign: Reign | undefined;
  /** While following: whether the leader has said UPTODATE. */
  isUpToDate: boolean;
  ticket: number;
  readonly pending: ZabPending[];
}

export type ZabEffects = Effects<ZabMessage, ZabImage>;

export const TIMERS: readonly string[] = ["resend", "finalize", "limit", "retry", "ping"];
export const RESEND = 0;
export const FINALIZE = 1;
export const LIMIT = 2;
export const RETRY = 3;
export const PING = 4;
