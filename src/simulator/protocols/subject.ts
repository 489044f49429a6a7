// A subject: a node, and how it is hunted. The node (src/protocols) is all that a host needs; what the simulator wants to know of it is here: which invariants
// judge it, which faults it claims to tolerate, when it must have converged, what an operator may tell it, and which settings are worth drawing.
//
// A subject is typed by its node, so its invariants read states, messages and disks as what they are. The registry (subjects/index.ts) lists subjects of
// different types. That is sound because a world takes the node and the invariants from one subject, and gives none of them a state of another.
import type { Rng } from "../../base/rng.ts";
import type { LogNode, LogPlace, StateMachine } from "../../protocols/log-node.ts";
import type { Command, Message, NodeId, ProtocolNode, NodeSettings } from "../../protocols/node.ts";
import type { Invariant } from "./invariants/invariant.ts";

/** What may happen without breaking the node's promises. The hunt draws only such faults; transcripts show what the others do. */
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

/** Of a node for which nothing but its disk must be as it says. */
export const TOLERATES_ALL: Omit<Tolerance, "drift"> = {
  crashes: true,
  pauses: true,
  partitions: true,
  loss: true,
  duplicates: true,
  reordering: true,
  slowness: true,
  lostWrites: true,
};

/** Of a node that relies on a bound on delay, and on links that lose nothing. */
export const TOLERATES_CRASHES: Omit<Tolerance, "reordering"> = {
  crashes: true,
  pauses: false,
  partitions: false,
  loss: false,
  duplicates: true,
  slowness: false,
  lostWrites: true,
  drift: 0,
};

/** What converges when all is well again. */
export interface Liveness {
  /** A majority that can talk is enough; otherwise all members that are up must be able to talk. */
  readonly needs: "majority" | "everybody";
  /** Within this time after everything was repaired, all agree on one leader. */
  withinMs(settings: NodeSettings, nodes: number): number;
  /** Whether that holds under these settings; the hunt judges only safety under others. If absent: under all. */
  isPromised?(settings: NodeSettings): boolean;
  /** Whether it also holds while others are half connected: heard by those who can talk, or hearing them. If absent: it does. */
  readonly enduresHalfCuts?: boolean;
  /** Members without whom nothing is promised. If absent: there are none. */
  readonly mustInclude?: readonly NodeId[];
}

/** How `tell 1 NAME ARGUMENT` of a scenario, or of a drawn schedule, becomes a command of the node. */
export interface Telling<Told extends Command> {
  readonly help: string;
  command(argument: number): Told;
}

/** What a host with a state machine, and its clients, do in a simulated world. */
export interface LogHunt<Image = unknown, Machine extends object = object, Proposal = unknown, Kept = unknown> {
  readonly machine: StateMachine<Machine, Proposal, Kept>;
  /** A client proposes or reads so often. */
  clientEveryMs(settings: NodeSettings): number;
  /** `serial` is different for each proposal of a world. */
  drawProposal(rng: Rng, serial: number): Proposal;
  /** A host takes a snapshot when the log has so many entries. */
  compactAfter(settings: NodeSettings): number;
  /** Whether this disk has that entry, or a snapshot that includes it. */
  holds(image: Image | undefined, place: LogPlace): boolean;
}

/** What every subject has. */
export interface SubjectCore<
  State extends object = object,
  Sent extends Message = Message,
  Told extends Command = Command,
  Image = unknown,
> {
  /** `campaign` begins an election; `suspect` says that a node is dead. */
  readonly commands: { readonly [Type in Told["type"]]: Telling<Extract<Told, { readonly type: Type }>> };
  readonly invariants: readonly Invariant<object, State, Sent, Image>[];
  readonly tolerates: Tolerance;
  /** The greatest delay of a message under which the promises hold, where `tolerates.slowness` is false. */
  delayMaxMs(settings: NodeSettings): number;
  readonly liveness: Liveness;
  /** Goes on for ever (heartbeats), so a run ends when all agree; else a run ends when nothing is left to happen. */
  isPerpetual(settings: NodeSettings): boolean;
  /** What makes a member the best one; "any": any member may win. */
  readonly electsBy: "id" | "attribute" | "any";
  /** Who is told to `campaign` at the start of a run that names no initiators. */
  readonly initiators: "all" | "first" | "none";
  /** Changes to the defaults for one world of the hunt: a detector that listens, extreme timeouts. If absent: the defaults. */
  drawSettings?(rng: Rng): NodeSettings;
}

/** How a node is hunted: which faults it tolerates, which invariants judge it, when it must have agreed. */
export interface Subject<
  State extends object = object,
  Sent extends Message = Message,
  Write = unknown,
  Told extends Command = Command,
  Image = Write,
> extends SubjectCore<State, Sent, Told, Image> {
  readonly node: ProtocolNode<State, Sent, Write, Told, Image>;
  readonly log?: undefined;
}

/** How a node with a log is hunted. */
export interface LogSubject<
  State extends object = object,
  Sent extends Message = Message,
  Write = unknown,
  Told extends Command = Command,
  Image = Write,
  Machine extends object = object,
  Proposal = unknown,
  Kept = unknown,
> extends SubjectCore<State, Sent, Told, Image> {
  readonly node: LogNode<State, Sent, Write, Told, Image, Proposal, Kept>;
  readonly log: LogHunt<Image, Machine, Proposal, Kept>;
}

/** A subject of either kind. */
export type AnySubject = Subject | LogSubject;

/** What `tell 1 NAME ARGUMENT` tells the node. */
export function commandOf({ node, commands }: AnySubject, name: string, argument: number): Command {
  const telling = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (telling === undefined)
    throw new RangeError(`${node.name} knows no command ${name}: ${Object.keys(commands).join(", ")}`);
  return telling.command(argument);
}
