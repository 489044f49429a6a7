// The state of a ZAB peer, and the messages that peers send to each other. Names follow the paper (Junqueira, Reed, Serafini 2011) for discovery and synchronisation, and ZooKeeper for the election.
import type { Effects, NodeId } from "../node.ts";

/** ZooKeeper writes them LOOKING, FOLLOWING and LEADING. */
export type PeerState = "looking" | "following" | "leading";

/** The candidate, and the history that it had when it was proposed. */
export interface Vote {
  readonly leader: NodeId;
  readonly zxid: number;
  /** ZooKeeper's electionEpoch: the number of the election, not of a reign. */
  readonly round: number;
  /** The candidate's currentEpoch; when it leads, the epoch that it has established. */
  readonly peerEpoch: number;
}

/** A vote, and the state of the peer that cast it. */
export interface Notification extends Vote {
  readonly type: "NOTIFICATION";
  readonly state: PeerState;
}

/** The messages that nodes of ZooKeeper's election send to each other. */
export type ZabMessage =
  | Notification
  /** To the elected peer: the epoch that the sender has accepted. */
  | { readonly type: "CEPOCH"; readonly acceptedEpoch: number }
  /** From the elected peer: accept this epoch, which is greater than every epoch that a quorum had accepted. */
  | { readonly type: "NEWEPOCH"; readonly epoch: number }
  /** The epoch is accepted, and on disk. `counts`: for this leader and no other; otherwise the epoch was accepted before, for an unknown leader. */
  | {
      readonly type: "ACKEPOCH";
      readonly epoch: number;
      readonly currentEpoch: number;
      readonly zxid: number;
      readonly counts: boolean;
    }
  /** A quorum has accepted the epoch: take this history. */
  | { readonly type: "NEWLEADER"; readonly epoch: number; readonly zxid: number }
  /** The history is taken, and on disk. */
  | { readonly type: "ACKLEADER"; readonly epoch: number }
  /** A quorum has taken the history: the epoch is established. */
  | { readonly type: "UPTODATE"; readonly epoch: number }
  | { readonly type: "PING"; readonly epoch: number }
  | { readonly type: "PONG"; readonly epoch: number };

/** `campaign`: look for a leader, no matter which. `suspect`: the same, if this peer follows the member `node`. */
export type ZabCommand = { readonly type: "campaign" } | { readonly type: "suspect"; readonly node: NodeId };

/** The data that survives a crash. currentEpoch ≤ acceptedEpoch, and neither falls. */
export interface ZabImage {
  /** The greatest epoch that this peer has agreed to enter. */
  readonly acceptedEpoch: number;
  /** The epoch of the leader whose history this peer has. */
  readonly currentEpoch: number;
  /** The last transaction of its history, which stands for the whole history. */
  readonly zxid: number;
}

/** Actions that wait for a write. */
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

/** The state of a peer that was elected. */
export interface Reign {
  phase: ReignPhase;
  /** 0 until it is chosen. */
  epoch: number;
  /** The peers whose votes elected it. */
  readonly electors: Set<NodeId>;
  /** Peer → the epoch it had accepted when it came. */
  readonly joined: Map<NodeId, number>;
  readonly accepted: Set<NodeId>;
  readonly synced: Set<NodeId>;
  /** Synced peer → the time when it was last heard. */
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

/** The state of a node of ZooKeeper's election. */
export interface ZabState {
  readonly id: NodeId;
  readonly voters: readonly NodeId[];
  /** Peer → 1 or 0. */
  readonly weights: ReadonlyMap<NodeId, number>;
  readonly timing: Timing;
  acceptedEpoch: number;
  currentEpoch: number;
  zxid: number;
  /** The leader for which acceptedEpoch was accepted, if that was in this life. */
  acceptedFor: NodeId;
  mode: PeerState;
  /** ZooKeeper's logicalclock. Not durable: a new life begins with 0, and learns. */
  round: number;
  /** While looking: the vote that it proposes. Afterwards: its current vote. vote.round = round. */
  vote: Vote;
  /** The votes that were heard in this round. */
  readonly received: Map<NodeId, Notification>;
  /** The votes of peers that do not look, of any round: ZooKeeper's outofelection. */
  readonly settled: Map<NodeId, Notification>;
  /** A quorum agrees; the peer waits in case a better vote comes. */
  isFinalizing: boolean;
  /** The peers for which the last wait was started anew. */
  readonly waitedFor: Set<NodeId>;
  /** The time until the next notifications, if nothing is heard. It doubles each time. */
  resendMs: number;
  /** Set while leading. */
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
