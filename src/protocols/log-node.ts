// The additions of a node with a log to a node (node.ts), for a host that keeps a state machine: propose, append, commit, apply; snapshots; reads; members that change. The shape is that of Raft's log
// (Ongaro's thesis, chapters 3 to 6).
//
//   input                method          answer
//   propose this         propose         at once: where it was appended, or why not
//   read                 read            later, by `readable` or `unreadable` with the same number
//   the machine's state  compact         none: the log before that index may go
//   add or remove        changeMembers   at once, as for `propose`
//
//   effect       action of the host
//   apply        hands the entry to its machine: it is committed
//   restore      throws its machine away and makes one from the snapshot
//   readable     answers the read from its machine, which has been given everything that the answer needs
//   unreadable   tells the reader to ask again, there or elsewhere
//
// THE OUTCOME OF A PROPOSAL HAS THREE VALUES  `appended` does not mean done: the outcome is still unknown. The proposal is done when `apply` brings an entry of that index and that term; it will never be
// done when `apply` brings another term at that index. A host that crashes, or sees neither, does not know, and must not say "not done". Nothing of a proposal that was `refused` is in any log.
//
// A HOST MAY RELY ON THIS  In one life `apply` brings every index once, in order, beginning after the snapshot that `restore` brought last, or at 1. An index that was applied holds the same entry on
// every node, in every life. Effects are carried out in order, so a machine that applies later than it is told to must queue `readable` behind the entries that it has not applied.
// A NODE MAY RELY ON THIS  The host calls `compact` with an index that it has applied, and with its machine's state after exactly that entry.
import type { Command, Effects, Message, NodeCore, NodeId } from "./node.ts";

/** A place in a log. The first index is 1; index 0 with term 0 is the place before it. */
export interface LogPlace {
  readonly index: number;
  readonly term: number;
}

/** Voters count for majorities. Learners are sent the log and do not count: a new member catches up as a learner. */
export interface Membership {
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
}

/** One entry of a log. */
export type LogEntry<Proposal> = LogPlace &
  (
    | { readonly kind: "proposal"; readonly proposal: Proposal }
    | { readonly kind: "members"; readonly members: Membership }
    /** A new leader's first entry, by which it learns which entries are committed (Raft, section 8). */
    | { readonly kind: "nothing" }
  );

/** A machine's state after the entry at `index`, in place of the log up to there. */
export interface Snapshot<Kept> extends LogPlace {
  readonly members: Membership;
  readonly kept: Kept;
}

/** The reason why a proposal, a change of members or a read is refused. */
export type WhyRefused =
  /** `leader` may take it. */
  | "not-leader"
  /** Leadership is being handed over. */
  | "handing-over"
  /** A change of members: another change is not committed yet. */
  | "change-pending"
  /** A change of members: it would change nothing, or no member would be left. */
  | "no-such-change"
  /** This node never does that. */
  | "not-supported";

/** The answer to a proposal. */
export type Proposed =
  | ({ readonly outcome: "appended" } & LogPlace)
  | { readonly outcome: "refused"; readonly why: WhyRefused; readonly leader: NodeId };

/** Members change one at a time (thesis, section 4.1), so that the majorities before and after each change share a member. */
export interface MemberChange {
  readonly type: "add-learner" | "promote" | "remove";
  readonly node: NodeId;
}

/** snapshot ≤ applied ≤ committed ≤ last. The log has the entries from `snapshot + 1` to `last`. */
export interface LogBounds {
  readonly snapshot: number;
  readonly applied: number;
  readonly committed: number;
  readonly last: number;
}

/** The effects that a node with a log asks its host for. */
export interface LogEffects<
  Sent extends Message = Message,
  Write = unknown,
  Proposal = unknown,
  Kept = unknown,
> extends Effects<Sent, Write> {
  apply(entry: LogEntry<Proposal>): void;
  restore(snapshot: Snapshot<Kept>): void;
  readable(request: number): void;
  /** `leader` may know more; NOBODY: this node knows of no leader. */
  unreadable(request: number, leader: NodeId): void;
}

/** A node that replicates a log of proposals, beside electing a leader. */
export interface LogNode<
  State extends object = object,
  Sent extends Message = Message,
  Write = unknown,
  Told extends Command = Command,
  Image = Write,
  Proposal = unknown,
  Kept = unknown,
> extends NodeCore<State, Sent, Write, Told, Image, LogEffects<Sent, Write, Proposal, Kept>> {
  readonly hasLog: true;
  propose(state: State, proposal: Proposal, now: number, effects: LogEffects<Sent, Write, Proposal, Kept>): Proposed;
  /** Asks for a linearizable read. The host chooses the request numbers, and uses each once in a life. */
  read(state: State, request: number, now: number, effects: LogEffects<Sent, Write, Proposal, Kept>): void;
  /** An index that is not newer than the last snapshot's is ignored. */
  compact(state: State, index: number, kept: Kept, now: number, effects: LogEffects<Sent, Write, Proposal, Kept>): void;
  changeMembers(
    state: State,
    change: MemberChange,
    now: number,
    effects: LogEffects<Sent, Write, Proposal, Kept>,
  ): Proposed;
  /** The members that are in force, committed or not. */
  members(state: State): Membership;
  bounds(state: State): LogBounds;
  /** Undefined: a snapshot has replaced the entry, or the log is not that long. */
  entryAt(state: State, index: number): LogEntry<Proposal> | undefined;
}

/** The machine that a host replicates. It is pure: the same proposals in the same order give the same state. */
export interface StateMachine<Machine extends object = object, Proposal = unknown, Kept = unknown> {
  create(): Machine;
  /** Changes the machine in place. */
  apply(machine: Machine, proposal: Proposal): void;
  /** Returns plain data, which the machine does not change afterwards. */
  snapshot(machine: Machine): Kept;
  restore(kept: Kept): Machine;
}
