// The clients of a world whose nodes have a log, and the snapshots of its hosts. A client asks one member at a time, mostly one that says that it leads, to take a proposal or to let it read. A member
// that it reaches answers at once: the slow parts of a world are between members.
import { nextBetween, nextChance, nextOf, type Rng } from "../../base/rng.ts";
import type { NodeId } from "../../protocols/node.ts";
import type { Actor, Kernel } from "../kernel/kernel.ts";
import type { HostEvent } from "./invariants/invariant.ts";
import type { Member } from "./member.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { LogHunt } from "./subject.ts";
import type { ProtocolTrace } from "./trace.ts";

export type ClientErrand = "client" | "compact";

interface Surroundings extends Actor {
  readonly kernel: Kernel;
  readonly trace: ProtocolTrace;
  readonly spec: ProtocolSpec;
  readonly members: readonly Member[];
  /** Called before and after an input that a member is given from outside. */
  given(member: Member, what: number): void;
  judged(member: Member): void;
}

/** A host's snapshot on its way to the node. */
interface Compaction {
  readonly life: number;
  readonly index: number;
  readonly kept: unknown;
}

const [PROPOSED, READ, COMPACTED, CHANGED] = [910, 911, 912, 913];

export class Clients {
  /** The time when the newest proposal that is known to be done was made, and its place in the log. */
  acknowledgedMs: number = -Infinity;
  acknowledged = 0;
  readonly #world: Surroundings;
  readonly #hunt: LogHunt;
  readonly #rng: Rng;
  #serial = 0;
  /** Index → the time when it was proposed. */
  readonly #proposedMs = new Map<number, number>();
  /** The members whose host is taking a snapshot. */
  readonly #busy = new Set<NodeId>();
  #isQuiet = false;

  constructor(world: Surroundings, hunt: LogHunt, rng: Rng) {
    this.#world = world;
    this.#hunt = hunt;
    this.#rng = rng;
  }

  fork(world: Surroundings): Clients {
    const fork = new Clients(world, this.#hunt, { ...this.#rng });
    fork.acknowledged = this.acknowledged;
    fork.acknowledgedMs = this.acknowledgedMs;
    fork.#serial = this.#serial;
    fork.#isQuiet = this.#isQuiet;
    for (const [index, atMs] of this.#proposedMs) fork.#proposedMs.set(index, atMs);
    for (const node of this.#busy) fork.#busy.add(node);
    return fork;
  }

  begin(): void {
    const { kernel, spec } = this.#world;
    kernel.schedule(kernel.nowMs + this.#hunt.clientEveryMs(spec.settings), this.#world, "client", 0);
  }

  /** From now on no client asks for anything. */
  stop(): void {
    this.#isQuiet = true;
  }

  attend(errand: ClientErrand, node: NodeId, payload: unknown): void {
    if (errand === "client") this.#ask();
    else this.#handOver(node, payload as Compaction);
  }

  #ask(): void {
    if (this.#isQuiet) return;
    this.begin();
    const { members, trace, kernel } = this.#world;
    const leaders = members.filter(({ role }) => role === "leader");
    const member = nextOf(this.#rng, nextChance(this.#rng, 0.8) && leaders.length > 0 ? leaders : members);
    const isRead = nextChance(this.#rng, 0.4);
    const { settings, nodes } = this.#world.spec;
    const change = this.#hunt.drawChange?.(this.#rng, nodes, settings);
    const { replica, isUp, isPaused, id } = member;
    if (replica === undefined || !isUp || isPaused) return;
    if (change !== undefined) {
      this.#world.given(member, CHANGED);
      replica.changeMembers(change);
    } else if (isRead) {
      this.#world.given(member, READ);
      replica.read();
    } else {
      this.#world.given(member, PROPOSED);
      const proposed = replica.propose(this.#hunt.drawProposal(this.#rng, ++this.#serial));
      trace.record(kernel.nowMs, { type: "propose", node: id, proposed });
      if (proposed.outcome === "appended") this.#proposedMs.set(proposed.index, kernel.nowMs);
    }
    this.#world.judged(member);
  }

  /** A host has done something: clients learn of it, and a log that has grown is shortened. */
  note(member: Member, event: HostEvent): void {
    if (event.type === "acknowledged" && event.index > this.acknowledged) {
      this.acknowledged = event.index;
      this.acknowledgedMs = this.#proposedMs.get(event.index) ?? -Infinity;
      for (const index of this.#proposedMs.keys()) if (index <= event.index) this.#proposedMs.delete(index);
    }
    const { replica, id } = member;
    if (event.type !== "applied" || replica === undefined || this.#busy.has(id)) return;
    const { last, snapshot } = replica.bounds();
    if (last - snapshot < this.#hunt.compactAfter(this.#world.spec.settings)) return;
    this.#busy.add(id);
    const compaction: Compaction = { life: member.life, index: replica.applied, kept: replica.kept() };
    const { kernel, spec } = this.#world;
    const takesMs = nextBetween(this.#rng, 0, 8) * this.#hunt.clientEveryMs(spec.settings);
    kernel.schedule(kernel.nowMs + takesMs, this.#world, "compact", id, compaction);
  }

  #handOver(node: NodeId, { life, index, kept }: Compaction): void {
    this.#busy.delete(node);
    const member = this.#world.members[node - 1];
    if (member?.replica === undefined || member.life !== life || !member.isUp || member.isPaused) return;
    this.#world.given(member, COMPACTED);
    member.replica.compact(index, kept);
    this.#world.judged(member);
  }
}
