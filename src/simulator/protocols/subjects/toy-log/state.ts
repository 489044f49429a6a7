// The state of a node of the toy log, the data on its disk, and the messages that its nodes send to each other.
import type { LogEntry, LogEffects, Snapshot } from "../../../../protocols/log-node.ts";
import type { NodeId } from "../../../../protocols/node.ts";
import type { Assignment, KeptShelf } from "./machine.ts";

export type ToyEntry = LogEntry<Assignment>;
export type ToySnapshot = Snapshot<KeptShelf>;

export type ToyMessage =
  /** The entries that the receiver lacks, the committed index, and a number that the answer repeats, which confirms reads. */
  | {
      readonly type: "APPEND";
      readonly term: number;
      readonly round: number;
      readonly entries: readonly ToyEntry[];
      readonly committed: number;
    }
  /** A snapshot instead of entries that the leader no longer has. */
  | { readonly type: "SNAPSHOT"; readonly term: number; readonly round: number; readonly snapshot: ToySnapshot }
  /** The sender's disk has everything up to `stored`. */
  | { readonly type: "APPENDED"; readonly term: number; readonly round: number; readonly stored: number };

/** One write: a leader's new term, entries that follow the present ones, or a snapshot that replaces everything up to it. */
export interface ToyWrite {
  readonly term?: number;
  readonly entries?: readonly ToyEntry[];
  readonly snapshot?: ToySnapshot;
}

export interface ToyImage {
  /** The last term that this node has led. */
  readonly term: number;
  readonly snapshot: ToySnapshot | undefined;
  /** The entries from `snapshot.index + 1` on, or from 1. */
  readonly entries: readonly ToyEntry[];
}

/** A write that is under way: the index up to which the log is on disk when it is done, and the node that is then told so. */
export interface PendingWrite {
  readonly ticket: number;
  readonly last: number;
  readonly reply: { readonly to: NodeId; readonly term: number; readonly round: number } | undefined;
}

export interface PendingRead {
  readonly request: number;
  /** The read is confirmed when a majority has answered this round or a later one. */
  readonly round: number;
}

export interface ToyState {
  readonly id: NodeId;
  readonly members: readonly NodeId[];
  readonly leader: NodeId;
  readonly majority: number;
  readonly heartbeatMs: number;
  /** The leader's term: its own, or the last that this node has heard. */
  term: number;
  /** As leader: its term is on disk. */
  isLeading: boolean;
  snapshot: ToySnapshot | undefined;
  /** The entries from `snapshot.index + 1` on, or from 1. */
  entries: ToyEntry[];
  /** applied = committed: a node applies at once. ≤ the last index */
  committed: number;
  /** The index up to which the log is on the node's own disk. ≤ the last index */
  stored: number;
  ticket: number;
  readonly pending: PendingWrite[];
  /** As leader: the first index of its own term. Below it, the leader does not know what is committed. */
  firstOfTerm: number;
  round: number;
  /** Peer → the index up to which its disk has the log; −1: it has not said so in this term. */
  readonly storedBy: number[];
  /** Peer → the last round that it has answered in this term. */
  readonly answered: number[];
  reads: PendingRead[];
}

export type ToyEffects = LogEffects<ToyMessage, ToyWrite, Assignment, KeptShelf>;

export const TIMERS: readonly string[] = ["heartbeat"];
export const HEARTBEAT = 0;
