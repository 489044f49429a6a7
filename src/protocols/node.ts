// The contract of a node: the exports of one folder of src/protocols, and all that a host (a network, a browser, the simulator) needs to run it. The hunt for errors in a node (its invariants, the faults
// that it tolerates) is not part of the contract: src/simulator/protocols/subject.ts.
//
// A node is a pure machine: `(state, input, now) → state + effects`. The state is plain data that belongs to the host, and is changed in place; there is one method per input, and effects are calls on
// `Effects` that only record a wish and return nothing, so that an event costs no allocation.
//
//   input               method      when
//   start or restart    start       once in a life, first; with the image of the disk, or nothing
//   message             receive     any time, also doubled, late, out of order, and from before this node's own restart
//   timer               expire      not before it was due by this node's clock; never after it was cancelled or set anew
//   disk write done     stored      the write with this ticket, and every earlier one, outlives a crash from now on
//   operator            command     one of the node's own commands, with its arguments
//
// A node with a log has more inputs and effects: log-node.ts.
//
// A NODE MAY RELY ON THIS  `now` is this node's own monotonic clock in milliseconds: it does not compare with another node's, and begins anywhere in a new life. Effects are carried out in order, and
// none comes back before the method has returned. Only persisted data survives a crash: `create` makes a new state, and `start` gets the disk's image. A message is frozen by being sent: neither side
// changes it.
// A NODE MAY NOT DO THIS  Read a clock, keep anything outside its state, throw on a message of a peer, or put functions or classes into its state (src/base/clone.ts copies it).
import type { Rng } from "../base/rng.ts";

/** A node's id is a number from 1 to N. */
export type NodeId = number;

/** Stands in place of a node's id where there is none. */
export const NOBODY = 0;

/** Plain data; `type` is one of the node's `messageTypes`. */
export interface Message {
  readonly type: string;
}

/** A command that an operator may give to a node: `type` and its arguments, as plain data. */
export interface Command {
  readonly type: string;
}

/** The role that a node announces. `leader` is a belief: the head comment of each protocol says whether the node may act on it. */
export type Role = "follower" | "candidate" | "leader";

/** The effects that a node asks its host for. */
export interface Effects<Sent extends Message = Message, Write = unknown> {
  /** A node may also send to itself: such a message arrives at once, is never lost, and is not counted. */
  send(to: NodeId, message: Sent): void;
  /** `timer` is an index of the node's `timers`. Sets the timer anew if it runs. `subject` tells timers of one kind apart: a peer's id. */
  setTimer(timer: number, afterMs: number, subject?: number): void;
  cancelTimer(timer: number, subject?: number): void;
  /** Asks for a write; `stored` answers with the same ticket. Tickets of one life grow. Until then a crash may lose the write, or keep it. */
  persist(ticket: number, write: Write): void;
  /** Announces the present belief of this node. Announcing the same again does nothing. */
  announce(role: Role, leader: NodeId, term: number): void;
  /** The reason for an action, for transcripts: a constant that names the rule. */
  explain(rule: string): void;
}

/** One value of a node's settings. */
export type NodeSetting = number | boolean | string;
/** A node's settings, by the names of its parameters. */
export type NodeSettings = Readonly<Record<string, NodeSetting>>;

/**
 * A number whose name ends in `Ms` is a duration. The command line and scenario files derive their spelling from the name: `answerTimeoutMs` is
 * `--answer-timeout 50ms` and `answerTimeout=50ms`.
 */
export interface Parameter {
  readonly default: NodeSetting;
  readonly help: string;
  /** For a text: its possible values. */
  readonly choices?: readonly string[];
}

/** The arguments with which a node is created. */
export interface Setup {
  readonly id: NodeId;
  /** All members, in clockwise order for protocols with a ring; ascending otherwise. */
  readonly members: readonly NodeId[];
  /** A protocol that elects by attribute is to elect the member with the best one. It is the id unless told otherwise. */
  readonly attribute: number;
  /** The leader when the world began, so that a run can start from a settled group; NOBODY: a fresh start. A later life gets NOBODY. */
  readonly leader: NodeId;
  /** The settings are complete: they have every parameter of the node. */
  readonly settings: NodeSettings;
  /** The random numbers of this life. They are part of the state, if the node draws. */
  readonly rng: Rng;
}

/** The part that every node has. `Wanted` are the effects it asks of its host; `Write` is one write to the disk, and `Image` is the sum of all writes. */
export interface NodeCore<
  State extends object,
  Sent extends Message,
  Write,
  Told extends Command,
  Image,
  Wanted extends Effects<Sent, Write>,
> {
  readonly name: string;
  readonly summary: string;
  readonly messageTypes: readonly Sent["type"][];
  /** Names of timers; a timer is an index of this. */
  readonly timers: readonly string[];
  readonly parameters: Readonly<Record<string, Parameter>>;

  /** Returns a problem with these settings in a group of this size: timeouts that do not fit each other, members that do not exist. If the method is absent, there is never a problem. */
  problemWith?(settings: NodeSettings, nodes: number): string | undefined;

  create(setup: Setup): State;
  start(state: State, image: Image | undefined, now: number, effects: Wanted): void;
  receive(state: State, from: NodeId, message: Sent, now: number, effects: Wanted): void;
  expire(state: State, timer: number, subject: number, now: number, effects: Wanted): void;
  stored(state: State, ticket: number, now: number, effects: Wanted): void;
  command(state: State, command: Told, now: number, effects: Wanted): void;
  /** Returns the content of the disk after `write`. Where a write replaces everything, it is the image itself; a log appends. Neither argument is changed. */
  fold(image: Image | undefined, write: Write): Image;
  /** Tells whether the node may act as leader at `now` of its clock, for a leadership that ends by itself. If the method is absent, the announced role counts. */
  leads?(state: State, now: number): boolean;
}

/** A node without a log: an election, or a lease. */
export interface ProtocolNode<
  State extends object = object,
  Sent extends Message = Message,
  Write = unknown,
  Told extends Command = Command,
  Image = Write,
> extends NodeCore<State, Sent, Write, Told, Image, Effects<Sent, Write>> {
  readonly hasLog?: false;
}

/** The parameters' defaults, with some of them changed. */
export function settingsOf(
  node: { readonly parameters: Readonly<Record<string, Parameter>> },
  changes: NodeSettings = {},
): NodeSettings {
  const defaults = Object.entries(node.parameters).map(([name, parameter]) => [name, parameter.default] as const);
  return { ...Object.fromEntries(defaults), ...changes };
}

export function numberOf(settings: NodeSettings, name: string): number {
  const value = settings[name];
  if (typeof value !== "number") throw new TypeError(`parameter ${name} is ${String(value)}; a number is needed`);
  return value;
}
