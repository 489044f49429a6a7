// What an invariant is: a name, where it comes from, what it remembers (plain data, so that a world can be copied), and when it looks. A look returns
// the story of what is wrong, or undefined. It judges by what members did and hold, never by what a protocol says of itself beyond its announcements.
//
// An invariant is typed by the states, messages and disks that it judges. One that looks at none of them holds for any protocol, and is in this folder; the
// others are beside the subject that they belong to, in ../subjects.
import type { LogEntry, LogBounds, LogPlace, Snapshot } from "../../../protocols/log-node.ts";
import type { Message, NodeId, Role } from "../../../protocols/node.ts";

/** What an invariant may see of a member. */
export interface SeenMember<State extends object = object, Image = unknown> {
  readonly id: NodeId;
  readonly state: State;
  readonly disk: { readonly image: Image | undefined };
  /** Counts its starts. */
  readonly life: number;
  /** True time at which this life began. */
  readonly startedMs: number;
  readonly isUp: boolean;
  readonly isPaused: boolean;
  /** True time at which it last went on after a pause. */
  readonly resumedMs: number;
  /** As last announced. */
  readonly role: Role;
  readonly leader: NodeId;
  readonly term: number;
  /** Local milliseconds per true millisecond. */
  readonly clockRate: number;
  /** What its clock shows. */
  now(): number;
  leads(): boolean;
  /** When a timer of it is due, in true time; Infinity: it does not run. */
  dueMs(timer: number, subject?: number): number;
  /** Of a node with a log, and its host. */
  readonly log: SeenLog | undefined;
}

/** What an invariant may see of a log, and of the machine that is fed from it. */
export interface SeenLog {
  bounds(): LogBounds;
  entryAt(index: number): LogEntry<unknown> | undefined;
  /** Whether the member's disk has that entry, or a snapshot that includes it. Also of a member that is down. */
  holds(place: LogPlace): boolean;
  /** The last entry that the machine was given. */
  readonly applied: number;
  /** The machine's state, as a snapshot would keep it. */
  kept(): unknown;
}

/** What the host of a node with a log, or one of its clients, has just done. */
export type HostEvent<Proposal = unknown, Kept = unknown> =
  | { readonly type: "applied"; readonly entry: LogEntry<Proposal> }
  | { readonly type: "restored"; readonly snapshot: Snapshot<Kept> }
  /** The host hands its machine's state to the node. */
  | { readonly type: "compacted"; readonly index: number; readonly kept: Kept }
  /** A client was told that its proposal is done. */
  | ({ readonly type: "acknowledged" } & LogPlace)
  /** A client has asked to read, and was given what the machine holds. */
  | { readonly type: "read" | "answered"; readonly request: number };

/** What an invariant may see. */
export interface WorldView<State extends object = object, Image = unknown> {
  readonly nowMs: number;
  /** Inputs that were given to members so far, the present one included. */
  readonly events: number;
  readonly nodes: number;
  readonly members: readonly SeenMember<State, Image>[];
  /** Ids are 1…N. */
  member(id: NodeId): SeenMember<State, Image>;
  attributeOf(id: NodeId): number;
  /** Whether what one sends reaches the other now. */
  reaches(from: NodeId, to: NodeId): boolean;
  /** Every write the resource has taken, in order; empty where there is none. */
  readonly accepted: readonly AcceptedWrite[];
  /** How long a message takes at most, where the protocol relies on that. */
  readonly delayMaxMs: number;
}

/** A write that the resource has taken. */
export interface AcceptedWrite {
  readonly atMs: number;
  readonly node: NodeId;
  readonly token: number;
}

/** A method's type, and so accepted where any protocol's is wanted: a world asks the invariants of its own subject only. */
export type Hearing<Memory, State extends object, Heard extends Message, Image> = {
  look(
    memory: Memory,
    view: WorldView<State, Image>,
    member: SeenMember<State, Image>,
    from: NodeId,
    message: Heard,
  ): string | undefined;
}["look"];

/** What must hold in every world of a protocol: it watches, and says in a sentence what is broken. */
export interface Invariant<
  Memory extends object = object,
  State extends object = object,
  Sent extends Message = Message,
  Image = unknown,
  Hosted = HostEvent,
> {
  readonly name: string;
  remember(nodes: number): Memory;
  /** At each send, lost or not. */
  sent?(memory: Memory, view: WorldView<State, Image>, from: NodeId, to: NodeId, message: Sent): string | undefined;
  /** By type: after a member that is not paused has been given such a message, and before `after`. */
  readonly received?: {
    readonly [Type in Sent["type"]]?: Hearing<Memory, State, Extract<Sent, { readonly type: Type }>, Image>;
  };
  /** After a member's announcement has changed. */
  announced?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** After each event of a member. */
  after?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** After a member was started, for what must outlive a crash. */
  started?(memory: Memory, view: WorldView<State, Image>, member: SeenMember<State, Image>): string | undefined;
  /** After the resource has taken a write. */
  written?(memory: Memory, view: WorldView<State, Image>, write: AcceptedWrite): string | undefined;
  /** After the host of a node with a log, or its client, has done something. */
  hosted?(
    memory: Memory,
    view: WorldView<State, Image>,
    member: SeenMember<State, Image>,
    event: Hosted,
  ): string | undefined;
  /** When nothing is left to happen, or everything was mended long enough ago. */
  atRest?(memory: Memory, view: WorldView<State, Image>): string | undefined;
}
