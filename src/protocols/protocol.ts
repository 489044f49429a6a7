// The contract of a protocol: what one folder of src/protocols exports, and all that a host (the simulator, a browser, a network) needs to run it.
//
// A node is a pure machine: `(state, input, now) → state + effects`. The state is plain data that belongs to the host, and is changed in place; there is one
// method per input, and effects are calls on `Effects` that only record what is wanted and return nothing, so that an event costs no allocation.
//
//   input               method      when
//   start or restart    start       once in a life, first; with what the disk held, or nothing
//   message             receive     any time, also doubled, late, out of order, and from before this node's own restart
//   timer               expire      not before it was due by this node's clock; never after it was cancelled or set anew
//   disk write done     stored      the write with this ticket, and every earlier one, outlives a crash from now on
//   operator            command     one of the protocol's `commands`
//
// WHAT A NODE MAY RELY ON  `now` is this node's own monotonic clock in milliseconds: it does not compare with another node's, and begins anywhere in a
// new life. Effects are carried out in order, and none comes back before the method has returned. Nothing of a state survives a crash but what was persisted: `create` makes a
// new state, `start` gets the disk's image. A message is frozen by being sent: neither side changes it.
// WHAT IT MAY NOT DO  Read a clock, keep anything outside its state, throw on what a peer sent, or put functions or classes into its state
// (src/base/clone.ts copies it).
import type { Rng } from "../base/rng.ts";

/** 1…N. */
export type NodeId = number;

/** In place of a node's id: none. */
export const NOBODY = 0;

/** Plain data; `type` is one of the protocol's `messageTypes`. */
export interface Message {
  readonly type: string;
}

/** What a node says of itself. `leader` is belief: whether it may act on it is what the protocol's head says. */
export type Role = "follower" | "candidate" | "leader";

export interface Effects<Sent extends Message = Message, Write = unknown> {
  /** To itself too: that arrives at once, is never lost, and is not counted. */
  send(to: NodeId, message: Sent): void;
  /** `timer` is an index of the protocol's `timers`. Sets it anew if it runs. `subject` tells timers of one kind apart: a peer's id. */
  setTimer(timer: number, afterMs: number, subject?: number): void;
  cancelTimer(timer: number, subject?: number): void;
  /** Asks for a write; `stored` answers with the same ticket. Tickets of one life grow. Until then a crash may lose it, or keep it. */
  persist(ticket: number, write: Write): void;
  /** What this node believes now. Saying the same again does nothing. */
  announce(role: Role, leader: NodeId, term: number): void;
  /** Why it does what it does, for transcripts: a constant that names the rule. */
  explain(rule: string): void;
}

export type Setting = number | boolean | string;
export type Settings = Readonly<Record<string, Setting>>;

/**
 * A number whose name ends in `Ms` is a duration. The command line and scenario files derive their spelling from the name: `answerTimeoutMs` is
 * `--answer-timeout 50ms` and `answerTimeout=50ms`.
 */
export interface Parameter {
  readonly default: Setting;
  readonly help: string;
  /** For a text: what it may be. */
  readonly choices?: readonly string[];
}

export interface Setup {
  readonly id: NodeId;
  /** All members, in clockwise order for those who have a ring; ascending otherwise. */
  readonly members: readonly NodeId[];
  /** Where the protocol elects by attribute, the member with the best one is to be elected. The id unless told otherwise. */
  readonly attribute: number;
  /** Who led when the world began, so that a run can start from a settled group; NOBODY: a fresh start. A later life gets NOBODY. */
  readonly leader: NodeId;
  /** Complete: every parameter of the protocol. */
  readonly settings: Settings;
  /** This life's own luck. Part of the state, if the node draws. */
  readonly rng: Rng;
}

/** What may happen without breaking the protocol's promises. The hunt draws only such faults; transcripts show what the others do. */
export interface Tolerance {
  readonly crashes: boolean;
  readonly pauses: boolean;
  readonly partitions: boolean;
  readonly loss: boolean;
  readonly duplicates: boolean;
  /** Messages of one link may overtake each other. */
  readonly reordering: boolean;
  /** Any delay at all; else none beyond `delayMaxMs`. */
  readonly slowness: boolean;
  /** Unsynced writes are lost at a crash. */
  readonly lostWrites: boolean;
  /** Clocks may differ in rate by so much: 0.01 is one percent. */
  readonly drift: number;
}

/** What converges when all is well again. */
export interface Liveness {
  /** A majority that can talk is enough; otherwise all members that are up must be able to talk. */
  readonly needs: "majority" | "everybody";
  /** Within this time after everything was repaired, all agree on one leader. */
  withinMs(settings: Settings, nodes: number): number;
  /** Whether that holds under these settings; the hunt judges only safety under others. If absent: under all. */
  isPromised?(settings: Settings): boolean;
  /** Whether it also holds while others are half connected: heard by those who can talk, or hearing them. If absent: it does. */
  readonly enduresHalfCuts?: boolean;
}

export interface Protocol<State extends object = object, Sent extends Message = Message, Write = unknown> {
  /** As `conclave sim NAME`. */
  readonly name: string;
  readonly summary: string;
  readonly messageTypes: readonly string[];
  /** Names of timers; a timer is an index of this. */
  readonly timers: readonly string[];
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** Command → what it does and what its argument means. `campaign` begins an election; `suspect` says that a node is dead. */
  readonly commands: Readonly<Record<string, string>>;
  /** Names of files in src/simulator/protocols/invariants. */
  readonly invariants: readonly string[];
  readonly tolerates: Tolerance;
  /** The greatest delay of a message under which the promises hold, where `tolerates.slowness` is false. */
  delayMaxMs(settings: Settings): number;
  readonly liveness: Liveness;
  /** Goes on for ever (heartbeats), so a run ends when all agree; else a run ends when nothing is left to happen. */
  isPerpetual(settings: Settings): boolean;
  /** What makes a member the best one; "any": any member may win. */
  readonly electsBy: "id" | "attribute" | "any";
  /** Who is told to `campaign` at the start of a run that names no initiators. */
  readonly initiators: "all" | "first" | "none";

  /** What is wrong with these settings in a group of so many: timeouts that do not fit each other, members that do not exist. If absent: nothing ever. */
  problemWith?(settings: Settings, nodes: number): string | undefined;

  /** Changes to the defaults for one world of the hunt: a detector that listens, extreme timeouts. If absent: the defaults. */
  drawSettings?(rng: Rng): Settings;

  create(setup: Setup): State;
  start(state: State, image: Write | undefined, now: number, effects: Effects<Sent, Write>): void;
  receive(state: State, from: NodeId, message: Sent, now: number, effects: Effects<Sent, Write>): void;
  expire(state: State, timer: number, subject: number, now: number, effects: Effects<Sent, Write>): void;
  stored(state: State, ticket: number, now: number, effects: Effects<Sent, Write>): void;
  command(state: State, name: string, argument: number, now: number, effects: Effects<Sent, Write>): void;
  /** What the disk holds after `write`. Where a write replaces all, it is the image itself; a log would append. */
  fold(image: Write | undefined, write: Write): Write;
  /** Whether the node may act as leader at `now` of its clock, where that ends by itself. If absent: as announced. */
  leads?(state: State, now: number): boolean;
}

/** The parameters' defaults, with some of them changed. */
export function settingsOf(protocol: Protocol, changes: Settings = {}): Settings {
  const defaults = Object.entries(protocol.parameters).map(([name, parameter]) => [name, parameter.default] as const);
  return { ...Object.fromEntries(defaults), ...changes };
}

export function numberOf(settings: Settings, name: string): number {
  const value = settings[name];
  if (typeof value !== "number") throw new TypeError(`parameter ${name} is ${String(value)}; a number is needed`);
  return value;
}
