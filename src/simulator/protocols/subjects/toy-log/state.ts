// The state of a node of the toy log, the data on its disk, and the messages that its nodes send to each other.
import type { LogEffects, LogEntry, LogPlace, Membership, Snapshot } from "../../../../protocols/log-node.ts";
import type { Rng } from "../../../../base/rng.ts";
import type { NodeId } from "../../../../protocols/node.ts";
import type { Assignment, KeptShelf } from "./machine.ts";

export type ToyEntry = LogEntry<Assignment>;
export type ToySnapshot = Snapshot<KeptShelf>;

export type ToyMessage =
  /** Asks for a vote. `last` is the end of the candidate's log. */
  | { readonly type: "WANT"; readonly term: number; readonly last: LogPlace }
  | { readonly type: "GRANTED"; readonly term: number }
  /** The entries that the receiver lacks after `previous`, the committed index, and a number that the answer repeats, which confirms reads. */
  | {
      readonly type: "APPEND";
      readonly term: number;
      readonly round: number;
      readonly previous: LogPlace;
      readonly entries: readonly ToyEntry[];
      readonly committed: number;
    }
  /** A snapshot instead of entries that the leader no longer has. */
  | { readonly type: "SNAPSHOT"; readonly term: number; readonly round: number; readonly snapshot: ToySnapshot }
  /** The sender's disk has the leader's log up to `upTo`; or, if that did not match, the sender lacks the entry at `upTo`, or has another. */
  | {
      readonly type: "APPENDED";
      readonly term: number;
      readonly round: number;
      readonly isMatch: boolean;
      readonly upTo: number;
    };

/** The newest term that a node has heard of, and the member that it has voted for in that term, or nobody. */
export interface Ballot {
  readonly term: number;
  readonly vote: NodeId;
}

/** One write: a ballot; entries, before which the log is cut off at `from`; or a snapshot that replaces everything up to it. */
export interface ToyWrite {
  readonly ballot?: Ballot;
  readonly from?: number;
  readonly entries?: readonly ToyEntry[];
  readonly snapshot?: ToySnapshot;
}

export interface ToyImage {
  readonly ballot: Ballot;
  readonly snapshot: ToySnapshot | undefined;
  /** The entries from `snapshot.index + 1` on, or from 1. */
  readonly entries: readonly ToyEntry[];
}

/** A write that is under way: the index up to which the log is on disk when it is done, and the messages that are sent then. */
export interface PendingWrite {
  readonly ticket: number;
  last: number;
  readonly letters: { readonly to: NodeId; readonly message: ToyMessage }[];
}

export interface PendingRead {
  readonly request: number;
  /** The read is confirmed when a majority has answered this round or a later one. */
  readonly round: number;
}

export interface ToyState {
  readonly id: NodeId;
  /** All nodes of the world, members or not: a leader sends its log to each of them. */
  readonly nodes: readonly NodeId[];
  readonly heartbeatMs: number;
  readonly rng: Rng;
  term: number;
  vote: NodeId;
  /** NOBODY: none has been heard in this term. */
  leader: NodeId;
  /** As candidate: the members that have granted this term. */
  grants: NodeId[];
  /** As leader: its first entry is on disk. */
  isLeading: boolean;
  snapshot: ToySnapshot | undefined;
  /** The entries from `snapshot.index + 1` on, or from 1. */
  entries: ToyEntry[];
  /** By the last change in the log, committed or not. */
  inForce: Membership;
  /** applied = committed: a node applies at once. ≤ the last index */
  committed: number;
  /** The index up to which the log is on the node's own disk. ≤ the last index */
  stored: number;
  ticket: number;
  readonly pending: PendingWrite[];
  /** As leader: the first index of its own term. Below it, the leader does not know what is committed. Infinity: it has not won. */
  firstOfTerm: number;
  round: number;
  /** As leader, for each node: the index up to which its disk has this log. */
  readonly storedBy: number[];
  /** As leader, for each node: the index that is sent next. > storedBy */
  readonly next: number[];
  /** As leader, for each node: the last round that it has answered. */
  readonly answered: number[];
  reads: PendingRead[];
}

export type ToyEffects = LogEffects<ToyMessage, ToyWrite, Assignment, KeptShelf>;

export const TIMERS: readonly string[] = ["heartbeat", "watch"];
export const HEARTBEAT = 0;
export const WATCH = 1;
