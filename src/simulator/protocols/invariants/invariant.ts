// What an invariant is: a name, where it comes from, what it remembers (plain data, so that a world can be copied), and when it looks. A look returns
// the story of what is wrong, or undefined. It judges by what members did and hold, never by what a protocol says of itself beyond its announcements.
import type { Message, NodeId } from "../../../protocols/protocol.ts";
import type { Member } from "../member.ts";

/** What an invariant may see. */
export interface View {
  readonly nowMs: number;
  /** Inputs that were given to members so far, the present one included. */
  readonly events: number;
  readonly nodes: number;
  readonly members: readonly Member[];
  /** Ids are 1…N. */
  member(id: NodeId): Member;
  attributeOf(id: NodeId): number;
  /** Whether what one sends reaches the other now. */
  reaches(from: NodeId, to: NodeId): boolean;
  /** Every write the resource has taken, in order; empty where there is none. */
  readonly accepted: readonly AcceptedWrite[];
  /** How long a message takes at most, where the protocol relies on that. */
  readonly delayMaxMs: number;
}

export interface AcceptedWrite {
  readonly atMs: number;
  readonly node: NodeId;
  readonly token: number;
}

export type Hearing<Memory> = {
  look(memory: Memory, view: View, member: Member, from: NodeId, message: Message): string | undefined;
}["look"];

export interface Invariant<Memory extends object = object> {
  readonly name: string;
  remember(nodes: number): Memory;
  /** At each send, lost or not. */
  sent?(memory: Memory, view: View, from: NodeId, to: NodeId, message: Message): string | undefined;
  /** By type: after a member that is not paused has been given such a message, and before `after`. */
  readonly received?: Readonly<Record<string, Hearing<Memory>>>;
  /** After a member's announcement has changed. */
  announced?(memory: Memory, view: View, member: Member): string | undefined;
  /** After each event of a member. */
  after?(memory: Memory, view: View, member: Member): string | undefined;
  /** After a member was started, for what must outlive a crash. */
  started?(memory: Memory, view: View, member: Member): string | undefined;
  /** After the resource has taken a write, the last of `view.accepted`. */
  written?(memory: Memory, view: View): string | undefined;
  /** When nothing is left to happen, or everything was mended long enough ago. */
  atRest?(memory: Memory, view: View): string | undefined;
}
