// The state of a Raft node, the data on its disk, and the messages that Raft nodes send to each other. There is only the election so far: the log joins as fields of APPEND and APPENDED, as entries of
// RaftWrite, and behind the functions of log.ts.
import type { Rng } from "../../base/rng.ts";
import type { Effects, NodeId } from "../node.ts";
import type { LogEnd } from "./log.ts";

/** The messages that nodes send to each other in Raft's election. */
export type RaftMessage =
  /** Would you vote for me in `term`, which I have not begun? */
  | { readonly type: "PRE-VOTE"; readonly term: number; readonly log: LogEnd }
  /** Granted: the term that was asked for. Refused: the term of the member that refuses, which the asker adopts. */
  | { readonly type: "PRE-VOTED"; readonly term: number; readonly isGranted: boolean }
  /** Vote for me in `term`. `isTransfer`: the leader itself wants it so. */
  | { readonly type: "VOTE"; readonly term: number; readonly log: LogEnd; readonly isTransfer: boolean }
  | { readonly type: "VOTED"; readonly term: number; readonly isGranted: boolean }
  /** I lead in `term`: AppendEntries, without entries so far. */
  | { readonly type: "APPEND"; readonly term: number }
  | { readonly type: "APPENDED"; readonly term: number }
  /** Do not wait for your timer: take over from me. */
  | { readonly type: "TIMEOUT-NOW"; readonly term: number };

/** `campaign`: begin an election, or ask for pre-votes. `transfer`: hand leadership over to the member `to`. */
export type RaftCommand = { readonly type: "campaign" } | { readonly type: "transfer"; readonly to: NodeId };

/**
 *   follower        waits for a leader's APPEND, or for its election timer
 *   pre-candidate   asks whether it would be elected; its term is as before
 *   candidate       has begun a term and voted for itself, which counts when it is on disk; asks for votes
 *   leader          has the votes of a majority
 */
export type RaftRole = "follower" | "pre-candidate" | "candidate" | "leader";

/** A reply that is not sent before the disk has the data it speaks of. */
export interface Withheld {
  readonly ticket: number;
  readonly to: NodeId;
  readonly message: RaftMessage;
}

/** The state of a node in Raft's election. */
export interface RaftState {
  readonly id: NodeId;
  readonly peers: readonly NodeId[];
  /** This number of members is a majority. */
  readonly quorum: number;
  readonly timeoutMinMs: number;
  readonly timeoutMaxMs: number;
  readonly heartbeatMs: number;
  readonly hasPreVote: boolean;
  readonly hasCheckQuorum: boolean;
  readonly rng: Rng;
  readonly log: LogEnd;
  role: RaftRole;
  term: number;
  /** The member for which this node has voted in `term`. */
  vote: NodeId;
  /** The leader in `term`, as far as it is known. */
  leader: NodeId;
  /** The time when the leader was last heard, by this node's clock. */
  heardAtMs: number;
  /** The election timeout that was drawn for this role. timeoutMinMs ≤ timeoutMs ≤ timeoutMaxMs */
  timeoutMs: number;
  /** Peer → 1: the peer has granted its vote, or pre-vote, to this node. The entry of the own id says that the own vote counts, because it is on disk. */
  readonly votes: Uint8Array;
  /** Peer → 1: the peer has answered this leader since the last look. */
  readonly active: Uint8Array;
  /** As leader: the member to which leadership is being handed over. */
  transferee: NodeId;
  /** As candidate: whether the leader asked for this campaign. */
  isTransfer: boolean;
  /** The term and vote that the disk was last asked to keep. savedTerm ≤ term */
  savedTerm: number;
  savedVote: NodeId;
  /** The tickets of the last write that was asked for, and of the last that is done. durable ≤ ticket */
  ticket: number;
  durable: number;
  readonly withheld: Withheld[];
}

/** The data that survives a crash, and equally a change to it. Log entries will join as a field that `fold` appends. */
export interface RaftWrite {
  readonly term: number;
  readonly vote: NodeId;
}

export type RaftEffects = Effects<RaftMessage, RaftWrite>;

export const TIMERS: readonly string[] = ["election", "heartbeat", "check-quorum", "transfer"];
export const ELECTION = 0;
export const HEARTBEAT = 1;
export const CHECK_QUORUM = 2;
export const TRANSFER = 3;
