// An invariant has a name, a source, a memory (plain data, so that a world can be copied), and times at which it looks. A look returns a sentence about the breach, or undefined. It judges by the acts
// and the state of members, never by a protocol's words about itself beyond its announcements.
//
// An invariant is typed by the states, messages and disks that it judges. An invariant that looks at none of them holds for any protocol, and is in this folder; the others are beside the subject that
// they belong to, in ../subjects.
import type { LogEntry, LogBounds, LogPlace, Membership, Snapshot } from "../../../protocols/log-node.ts";
import type { Message, NodeId, Role } from "../../../protocols/node.ts";

/** The part of a member that an invariant may see. */
export interface SeenMember<State extends object = object, Image = unknown> {
  readonly id: NodeId;
  readonly state: State;
  readonly disk: { readonly image: Image | undefined };
  /** The number of its starts. */
  readonly life: number;
  /** The true time at which this life began. */
  readonly startedMs: number;
  readonly isUp: boolean;
  readonly isPaused: boolean;
  /** The true time at which it last went on after a pause. */
  readonly resumedMs: number;
  /** The role as last announced. */
  readonly role: Role;
  readonly leader: NodeId;
  readonly term: number;
  /** Local milliseconds per true millisecond. */
  readonly clockRate: number;
  /** The reading of its clock. */
  now(): number;
  leads(): boolean;
  /** The true time at which a timer is due; Infinity: it does not run. */
  dueMs(timer: number, subject?: number): number;
  /** The log of a node that has one, and its host. */
  readonly log: SeenLog | undefined;
}

/** The part of a log, and of its machine, that an invariant may see. */
export interface SeenLog {
  bounds(): LogBounds;
  entryAt(index: number): LogEntry<unknown> | undefined;
  /** The members that are in force by this log, committed or not. */
  members(): Membership;
  /** Tells whether the member's disk has that entry, or a snapshot that includes it. It also works for a member that is down. */
  holds(place: LogPlace): boolean;
  /** The last entry that the machine was given. */
  readonly applied: number;
  /** The machine's state, as a snapshot would keep it. */
  kept(): unknown;
}

/** The last act of the host of a node with a log, or of one of its clients. */
export type HostEvent<Proposal = unknown, Kept = unknown> =
  | { readonly type: "applied"; readonly entry: LogEntry<Proposal> }
  | { readonly type: "restored"; readonly snapshot: Snapshot<Kept> }
  /** The host hands its machine's state to the node. */
  | { readonly type: "compacted"; readonly index: number; readonly kept: Kept }
  /** A client was told that its proposal is done. */
  | ({ readonly type: "acknowledged" } & LogPlace)
  /** A client has asked to read, or was given the content of the machine. */
  | { readonly type: "read" | "answered"; readonly request: number };

/** The part of a world that an invariant may see. */
export interface WorldView<State extends object = object, Image = unknown> {
  readonly nowMs: number;
  /** The number of inputs that were given to members so far, the present one included. */
  readonly events: number;
  readonly nodes: number;
  readonly members: readonly SeenMember<State, Image>[];
  /** Ids are 1…N. */
  member(id: NodeId): SeenMember<State, Image>;
  attributeOf(id: NodeId): number;
  /** Tells whether messages of the one reach the other now. */
  reaches(from: NodeId, to: NodeId): boolean;
  /** Every write the resource has taken, in order; empty where there is none. */
  readonly accepted: readonly AcceptedWrite[];
  /** The longest time that a message takes, where the protocol relies on that. */
  readonly delayMaxMs: number;
}

/** A write that the resource has taken. */
export interface AcceptedWrite {
  readonly atMs: number;
  readonly node: NodeId;
  readonly token: number;
}

/** It is the type of a method, and so is accepted where any protocol's is wanted: a world asks the invariants of its own subject only. */
export type Hearing<Memory, State extends object, Heard extends Message, Image> = {
  look(
    memory: Memory,
    view: WorldView<State, Image>,
    member: SeenMember<State, Image>,
    from: NodeId,
    message: Heard,
  ): string | undefined;
}["look"];

/** A property that must hold in every world of a protocol: it watches, and says in a sentence what is broken. */
export interface Invariant<
  Memory extends object = object,
  State extends object = object,
  Sent extends Message = Message,
  Image = unknown,
  Hosted = HostEvent,
> {
  readonly name: string;
  remember(nodes: number): Memory;
  /** Called at each send, lost or not. */
  sent?(memory: Memory, view: WorldView<State, Image>, from: NodeId, to: NodeId, message: Sent): string | undefined;
  /** By type of message: called after a member that is not paused has been given such a message, and before `after`. */
  readonly received?: {
    readonly [Type in Sent["type"]]?: Hearing<Memory, State, Extract<Sent, { readonly type: Type }>, Image>;
  };
  /** Called after a member's announcement has changed. */
  announced?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** Called after each event of a member. */
  after?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** Called after a member was started, for data that must survive a crash. */
  started?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** Called after the resource has taken a write. */
  written?(memory: Memory, view: WorldView<State, Image>, write: AcceptedWrite): string | undefined;
  /** Called after the host of a node with a log, or its client, has done something. */
  hosted?(
    memory: Memory,
    view: WorldView<State, Image>,
    member: SeenMember<State, Image>,
    event: Hosted,
  ): string | undefined;
  /** Called when nothing is left to happen, or everything was mended long enough ago. */
  atRest?(memory: Memory, view: WorldView<State, Image>): string | undefined;
}
