// A subject: a node, and the way in which it is hunted. The node (src/protocols) is all that a host needs; the data for the simulator is here: the invariants that judge it, the faults that it claims to
// tolerate, the time in which it must converge, the commands of an operator, and the settings that are worth drawing.
//
// A subject is typed by its node, so its invariants read states, messages and disks as what they are. The registry (subjects/index.ts) lists subjects of different types. That is sound because a world
// takes the node and the invariants from one subject, and gives none of them a state of another.
import type { Rng } from "../../base/rng.ts";
import type { LogNode, LogPlace, MemberChange, StateMachine } from "../../protocols/log-node.ts";
import type { Command, Message, NodeId, ProtocolNode, NodeSettings } from "../../protocols/node.ts";
import type { Invariant } from "./invariants/invariant.ts";

/** The faults that do not break the node's promises. The hunt draws only such faults; transcripts show the effect of the others. */
export interface Tolerance {
  readonly crashes: boolean;
  readonly pauses: boolean;
  readonly partitions: boolean;
  readonly loss: boolean;
  readonly duplicates: boolean;
  /** Messages of one link may overtake each other. */
  readonly reordering: boolean;
  /** Any delay may happen; otherwise none beyond `delayMaxMs`. */
  readonly slowness: boolean;
  /** Unsynced writes are lost at a crash. */
  readonly lostWrites: boolean;
  /** Clocks may differ in rate by this much: 0.01 is one percent. */
  readonly drift: number;
}

/** For a node that relies on nothing but its disk. */
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

/** For a node that relies on a bound on delay, and on links that lose nothing. */
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

/** The convergence that a node promises when all is well again. */
export interface Liveness {
  /** A majority that can talk is enough; otherwise all members that are up must be able to talk. */
  readonly needs: "majority" | "everybody";
  /** Within this time after everything was repaired, all agree on one leader. */
  withinMs(settings: NodeSettings, nodes: number): number;
  /** Tells whether that holds under these settings; under others the hunt judges only safety. If the method is absent, it holds under all. */
  isPromised?(settings: NodeSettings): boolean;
  /** Whether it also holds while other members are half connected: the members that can talk hear them, or are heard by them. If absent: it does. */
  readonly enduresHalfCuts?: boolean;
  /** The members without which nothing is promised. If absent: there are none. */
  readonly mustInclude?: readonly NodeId[];
}

/** The way in which `tell 1 NAME ARGUMENT` of a scenario, or of a drawn schedule, becomes a command of the node. */
export interface Telling<Told extends Command> {
  readonly help: string;
  command(argument: number): Told;
}

/** The acts of a host with a state machine, and of its clients, in a simulated world. */
export interface LogHunt<Image = unknown, Machine extends object = object, Proposal = unknown, Kept = unknown> {
  readonly machine: StateMachine<Machine, Proposal, Kept>;
  /** The interval at which a client proposes or reads. */
  clientEveryMs(settings: NodeSettings): number;
  /** `serial` is different for each proposal of a world. */
  drawProposal(rng: Rng, serial: number): Proposal;
  /** A change of members that a client now asks for. Undefined: for none. If the method is absent: never. */
  drawChange?(rng: Rng, nodes: number, settings: NodeSettings): MemberChange | undefined;
  /** A host takes a snapshot when the log has this many entries. */
  compactAfter(settings: NodeSettings): number;
  /** Tells whether this disk has that entry, or a snapshot that includes it. */
  holds(image: Image | undefined, place: LogPlace): boolean;
}

/** The part that every subject has. */
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
  /** True: the node goes on for ever (heartbeats), so a run ends when all agree. False: a run ends when nothing is left to happen. */
  isPerpetual(settings: NodeSettings): boolean;
  /** The property that makes a member the best one; "any": any member may win. */
  readonly electsBy: "id" | "attribute" | "any";
  /** The members that are told to `campaign` at the start of a run that names no initiators. */
  readonly initiators: "all" | "first" | "none";
  /** Changes to the defaults for one world of the hunt: a detector that listens, extreme timeouts. If absent: the defaults. */
  drawSettings?(rng: Rng): NodeSettings;
}

/** A node with everything for its hunt: the faults it tolerates, the invariants that judge it, the time in which it must agree. */
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

/** The same for a node with a log. */
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

/** Returns the command that `tell 1 NAME ARGUMENT` gives to the node. */
export function commandOf({ node, commands }: AnySubject, name: string, argument: number): Command {
  const telling = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (telling === undefined)
    throw new RangeError(`${node.name} knows no command ${name}: ${Object.keys(commands).join(", ")}`);
  return telling.command(argument);
}
