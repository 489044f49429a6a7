// The host of a node with a log, in one life: its state machine, and the proposals and reads that it has not answered yet. A crash loses all of it; the node's data on disk brings it back, by `restore`
// and `apply`.
import { clonePlain } from "../../base/clone.ts";
import type {
  LogBounds,
  LogEntry,
  LogNode,
  LogPlace,
  MemberChange,
  Membership,
  Proposed,
  Snapshot,
} from "../../protocols/log-node.ts";
import type { HostEvent, SeenLog } from "./invariants/invariant.ts";
import type { Member } from "./member.ts";
import type { LogHunt, LogSubject } from "./subject.ts";

/** The part of the world that hears of the acts of a host. */
export interface HostSurroundings {
  hosted(member: Member, event: HostEvent): void;
}

export class Replica implements SeenLog {
  /** The last entry that the machine was given. */
  applied = 0;
  #machine: object;
  readonly #world: HostSurroundings;
  readonly #member: Member;
  readonly #node: LogNode;
  readonly #hunt: LogHunt;
  /** Index → the term in which this host's own proposal was appended there. */
  readonly #proposals = new Map<number, number>();
  #requests = 0;

  constructor(world: HostSurroundings, member: Member, { node, log }: LogSubject) {
    this.#world = world;
    this.#member = member;
    this.#node = node;
    this.#hunt = log;
    this.#machine = log.machine.create();
  }

  fork(world: HostSurroundings, member: Member, subject: LogSubject): Replica {
    const fork = new Replica(world, member, subject);
    fork.applied = this.applied;
    fork.#machine = clonePlain(this.#machine);
    fork.#requests = this.#requests;
    for (const [index, term] of this.#proposals) fork.#proposals.set(index, term);
    return fork;
  }

  // ---- the visible part ----------------------------------------------------------------------------------------------------------------

  bounds(): LogBounds {
    return this.#node.bounds(this.#member.state);
  }

  entryAt(index: number): LogEntry<unknown> | undefined {
    return this.#node.entryAt(this.#member.state, index);
  }

  members(): Membership {
    return this.#node.members(this.#member.state);
  }

  holds(place: LogPlace): boolean {
    return this.#hunt.holds(this.#member.disk.image, place);
  }

  kept(): unknown {
    return this.#hunt.machine.snapshot(this.#machine);
  }

  // ---- clients -------------------------------------------------------------------------------------------------------------------------

  propose(proposal: unknown): Proposed {
    const { state } = this.#member;
    const proposed = this.#node.propose(state, proposal, this.#member.now(), this.#member);
    if (proposed.outcome === "appended") this.#proposals.set(proposed.index, proposed.term);
    return proposed;
  }

  changeMembers(change: MemberChange): Proposed {
    return this.#node.changeMembers(this.#member.state, change, this.#member.now(), this.#member);
  }

  read(): number {
    const request = ++this.#requests;
    this.#world.hosted(this.#member, { type: "read", request });
    this.#node.read(this.#member.state, request, this.#member.now(), this.#member);
    return request;
  }

  /** The state was taken when the machine had been given `index`; a slow host hands it over later. */
  compact(index: number, kept: unknown): void {
    this.#world.hosted(this.#member, { type: "compacted", index, kept });
    this.#node.compact(this.#member.state, index, kept, this.#member.now(), this.#member);
  }

  // ---- effects of the node -------------------------------------------------------------------------------------------------------------

  apply(entry: LogEntry<unknown>): void {
    if (entry.kind === "proposal") this.#hunt.machine.apply(this.#machine, entry.proposal);
    this.applied = entry.index;
    this.#world.hosted(this.#member, { type: "applied", entry });
    const term = this.#proposals.get(entry.index);
    this.#proposals.delete(entry.index);
    if (term === entry.term) this.#world.hosted(this.#member, { type: "acknowledged", index: entry.index, term });
  }

  /** The outcome of a proposal within the snapshot stays unknown: the host cannot tell whether the entry was this proposal. */
  restore(snapshot: Snapshot<unknown>): void {
    this.#machine = this.#hunt.machine.restore(snapshot.kept);
    this.applied = snapshot.index;
    for (const index of this.#proposals.keys()) if (index <= snapshot.index) this.#proposals.delete(index);
    this.#world.hosted(this.#member, { type: "restored", snapshot });
  }

  readable(request: number): void {
    this.#world.hosted(this.#member, { type: "answered", request });
  }
}

/** For the trace's hash: the act, and its place in the log. */
export function hashOf(event: HostEvent): number {
  switch (event.type) {
    case "applied":
      return event.entry.index * 8;
    case "restored":
      return event.snapshot.index * 8 + 1;
    case "compacted":
      return event.index * 8 + 2;
    case "acknowledged":
      return event.index * 8 + 3;
    case "read":
    case "answered":
      return event.request * 8 + (event.type === "read" ? 4 : 5);
  }
}
