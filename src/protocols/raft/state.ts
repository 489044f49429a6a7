// What a Raft node knows, what its disk keeps, and what Raft nodes say to each other. Only the election so far: the log joins as fields of APPEND and
// APPENDED, as entries of RaftWrite, and behind the functions of log.ts.
import type { Rng } from "../../base/rng.ts";
import type { Effects, NodeId } from "../node.ts";
import type { LogEnd } from "./log.ts";

/** What nodes send to each other in Raft's election. */
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

/** Begin an election, or ask for pre-votes; hand leadership over to the member `to`. */
export type RaftCommand = { readonly type: "campaign" } | { readonly type: "transfer"; readonly to: NodeId };

/**
 *   follower        waits for a leader's APPEND, or for its election timer
 *   pre-candidate   asks whether it would be elected; its term is as before
 *   candidate       has begun a term and voted for itself, which counts when it is on disk; asks for votes
 *   leader          has the votes of a majority
 */
export type RaftRole = "follower" | "pre-candidate" | "candidate" | "leader";

/** A reply that says nothing before its node's disk knows it. */
export interface Withheld {
  readonly ticket: number;
  readonly to: NodeId;
  readonly message: RaftMessage;
}

/** What a node knows in Raft's election. */
export interface RaftState {
  readonly id: NodeId;
  readonly peers: readonly NodeId[];
  /** So many of all members are a majority. */
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
  /** For whom this node has voted in `term`. */
  vote: NodeId;
  /** Who leads in `term`, as far as it is known. */
  leader: NodeId;
  /** When it was last heard, by this node's clock. */
  heardAtMs: number;
  /** The election timeout that was drawn for this role. timeoutMinMs ≤ timeoutMs ≤ timeoutMaxMs */
  timeoutMs: number;
  /** Peer → 1: it has granted the own vote, or pre-vote. The own id: that vote counts, being on disk. */
  readonly votes: Uint8Array;
  /** Peer → 1: it has answered this leader since the last look. */
  readonly active: Uint8Array;
  /** As leader: to whom leadership is being handed over. */
  transferee: NodeId;
  /** As candidate: whether the leader asked for this campaign. */
  isTransfer: boolean;
  /** What the disk was last asked to keep. savedTerm ≤ term */
  savedTerm: number;
  savedVote: NodeId;
  /** Of the last write asked for, and of the last that is done. durable ≤ ticket */
  ticket: number;
  durable: number;
  readonly withheld: Withheld[];
}

/** What outlives a crash, and equally a change to it. Log entries join as a field that `fold` appends. */
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
