// A world of N members of one protocol: kernel, links, disks, clocks and a resource, put together. It goes one event at a time (`step`), and can be copied at any event (`fork`). Afterwards both copies
// go on alike until they are treated differently.
import { assert } from "../../base/assert.ts";
import { type Message, NOBODY, type NodeId, type Role } from "../../protocols/node.ts";
import type { Actor, Kernel, KernelEvent } from "../kernel/kernel.ts";
import type { Action } from "./actions.ts";
import { Clients } from "./clients.ts";
import type { AcceptedWrite, HostEvent, Invariant, WorldView } from "./invariants/invariant.ts";
import type { Violation } from "../kernel/hunt.ts";
import { Judges } from "./judges.ts";
import { drawLatency } from "../kernel/latency.ts";
import { changeLinks } from "./link-actions.ts";
import type { Links } from "./links.ts";
import { Member, type MemberSurroundings } from "./member.ts";
import { clientsLuck, forkParts, newParts, type Parts } from "./parts.ts";
import { hashOf } from "./replica.ts";
import type { LockedResource } from "./locked-resource.ts";
import { NODES_MAX, type ProtocolSpec } from "./spec.ts";
import type { ProtocolTrace } from "./trace.ts";
import { type AnySubject, commandOf } from "./subject.ts";
import { subjectNamed } from "./subjects/index.ts";
import { attend, type WriterErrand, releaseErrand } from "./writers.ts";

/** The options of a world: whether it is recorded, and the invariants that judge it. */
export interface WorldOptions {
  readonly isRecorded?: boolean;
  /** Undefined: the invariants of the subject. */
  readonly invariants?: readonly Invariant[] | undefined;
}

interface Count {
  count: number;
}

/** A world of members that speak a protocol. */
export class ProtocolWorld implements Actor, MemberSurroundings, WorldView {
  readonly spec: ProtocolSpec;
  readonly subject: AnySubject;
  readonly nodes: number;
  readonly members: Member[] = [];
  readonly delayMaxMs: number;
  readonly kernel: Kernel;
  readonly links: Links;
  readonly trace: ProtocolTrace;
  readonly resource: LockedResource;
  /** Undefined: the nodes have no log. */
  readonly clients: Clients | undefined;
  /** The number of inputs that were given to nodes. */
  events = 0;
  /** The time of the last input. */
  lastEventMs = 0;
  /** The time when a member last changed its belief, and the time when one first led. */
  lastAnnouncedMs = 0;
  firstLedMs: number = Infinity;
  readonly #judges: Judges;
  readonly #counts = new Map<string, Count>();
  readonly #parts: Parts;
  #messages = 0;

  constructor(spec: ProtocolSpec, options: WorldOptions = {}, origin?: ProtocolWorld) {
    assert(spec.nodes < NODES_MAX, `a world has fewer than ${NODES_MAX} members`);
    this.spec = spec;
    this.subject = subjectNamed(spec.protocol);
    this.nodes = spec.nodes;
    this.delayMaxMs = this.subject.delayMaxMs(spec.settings);
    const isNew = origin === undefined;
    this.#parts = isNew ? newParts(spec, options.isRecorded ?? false) : forkParts(origin.#parts, () => this);
    ({ kernel: this.kernel, links: this.links, trace: this.trace, resource: this.resource } = this.#parts);
    if (origin === undefined) {
      for (const type of this.subject.node.messageTypes) this.#counts.set(type, { count: 0 });
      this.#addMembers();
      const { log } = this.subject;
      if (log !== undefined) this.clients = new Clients(this, log, clientsLuck(spec));
      this.#judges = Judges.of(this, options.invariants ?? this.subject.invariants);
      this.#begin();
    } else {
      for (const [type, { count }] of origin.#counts) this.#counts.set(type, { count });
      for (const member of origin.members) this.members.push(member.fork(this));
      this.clients = origin.clients?.fork(this);
      this.#judges = origin.#judges.fork(this);
      this.events = origin.events;
      this.lastEventMs = origin.lastEventMs;
      this.lastAnnouncedMs = origin.lastAnnouncedMs;
      this.firstLedMs = origin.firstLedMs;
      this.#messages = origin.#messages;
    }
  }

  fork(): ProtocolWorld {
    return new ProtocolWorld(this.spec, {}, this);
  }

  #addMembers(): void {
    const { nodes, seed, ring, attributes, settings, clockRates, down } = this.spec;
    for (let id = 1; id <= nodes; id++) {
      // A member that starts later knows nothing of the earlier leader.
      const leader = down.includes(id) ? NOBODY : this.spec.leader;
      const setup = { id, members: ring, attribute: attributes[id - 1] ?? id, leader, settings };
      const clockRate = clockRates[id - 1] ?? 1;
      this.members.push(new Member(this, this.subject, { setup, seed, clockRate, clockStartMs: id * 1000 }));
    }
  }

  #begin(): void {
    const { down, schedule } = this.spec;
    for (const member of this.members) if (!down.includes(member.id)) this.#start(member);
    this.clients?.begin();
    for (const { atMs, action } of schedule) this.kernel.schedule(atMs, this, "action", 0, action);
  }

  // ---- questions -----------------------------------------------------------------------------------------------------------------------

  get nowMs(): number {
    return this.kernel.nowMs;
  }

  get violations(): readonly Violation[] {
    return this.#judges.violations;
  }

  get accepted(): readonly AcceptedWrite[] {
    return this.resource.accepted;
  }

  member(id: NodeId): Member {
    const member = this.members[id - 1];
    if (member === undefined) throw new RangeError(`there is no member ${id}; members are 1…${this.nodes}`);
    return member;
  }

  attributeOf(id: NodeId): number {
    return this.spec.attributes[id - 1] ?? id;
  }

  reaches(from: NodeId, to: NodeId): boolean {
    return !this.links.isCut(from, to) && !this.links.isHeld(from, to);
  }

  /** Type → the number of messages sent; a message to a crashed member counts, a message to oneself does not. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].map(([type, { count }]) => [type, count]));
  }

  leaders(): readonly NodeId[] {
    return this.members.filter((member) => member.leads()).map(({ id }) => id);
  }

  /** Returns the member that all of `ids` (by default all that are up) follow, and that says so too; NOBODY otherwise. */
  agreedLeader(ids?: readonly NodeId[]): NodeId {
    let agreed = NOBODY;
    for (const { id, isUp, isPaused, leader, role } of this.members) {
      if (ids === undefined ? !isUp || isPaused : !ids.includes(id)) continue;
      if (leader === NOBODY || role === "candidate" || (agreed !== NOBODY && leader !== agreed)) return NOBODY;
      agreed = leader;
    }
    return agreed !== NOBODY && this.member(agreed).leads() ? agreed : NOBODY;
  }

  judgeAtRest(): void {
    this.#judges.atRest();
  }

  // ---- time ----------------------------------------------------------------------------------------------------------------------------

  /** Handles one event. False: nothing is left to happen. */
  step(): boolean {
    const event = this.kernel.take();
    if (event === undefined) return false;
    this.handle(event);
    this.kernel.recycle(event);
    return true;
  }

  runTo(atMs: number): void {
    while (this.kernel.nextAtMs <= atMs) this.step();
    if (this.kernel.nowMs < atMs) this.kernel.nowMs = atMs;
  }

  handle(event: KernelEvent): void {
    const { kind, subject } = event;
    if (kind === "message")
      this.#arrive((subject / NODES_MAX) | 0, subject % NODES_MAX, event.payload as Message, event.detail);
    else if (kind === "timer")
      this.#wakeUp(this.members[(subject % NODES_MAX) - 1] as Member, (subject / NODES_MAX) | 0);
    else if (kind === "stored")
      this.#stored(this.members[(subject % NODES_MAX) - 1] as Member, (subject / NODES_MAX) | 0, event.detail);
    else if (kind === "action") this.apply(event.payload as Action);
    else if (kind === "suspect") this.#suspect(this.member(subject), event.detail);
    else if (kind === "client" || kind === "compact") this.clients?.attend(kind, subject, event.payload);
    else attend(this, kind as WriterErrand, this.member(subject), event.detail);
  }

  #arrive(from: NodeId, to: NodeId, message: Message, id: number): void {
    const member = this.members[to - 1] as Member;
    if (!member.isUp) {
      if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "undelivered", id, from, to, message });
      return;
    }
    this.#count(member, 1000 + from);
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "deliver", id, from, to, message });
    if (member.receive(from, message)) this.#judges.received(member, from, message);
    this.#judges.after(member);
  }

  #wakeUp(member: Member, slot: number): void {
    if (this.trace.isRecorded && member.isDue(slot)) {
      const [timer, subject] = [member.timerOf(slot), member.subjectOf(slot)];
      this.trace.record(this.nowMs, { type: "timer", node: member.id, timer, subject });
    }
    if (!member.woken(slot)) return;
    this.#count(member, slot);
    this.#judges.after(member);
  }

  #stored(member: Member, life: number, ticket: number): void {
    if (member.life !== life || !member.isUp) return;
    member.disk.settle();
    this.#count(member, 500);
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "stored", node: member.id, ticket });
    member.stored(ticket);
    this.#judges.after(member);
  }

  #count(member: Member, what: number): void {
    this.events++;
    this.lastEventMs = this.kernel.nowMs;
    this.trace.hash.mixTime(this.kernel.nowMs);
    this.trace.hash.mix(member.id * 65_536 + what);
  }

  // ---- wishes of members ---------------------------------------------------------------------------------------------------------------

  send(from: Member, to: NodeId, message: Message): void {
    const id = ++this.#messages;
    if (to === from.id) {
      this.kernel.schedule(this.nowMs, this, "message", to * NODES_MAX + to, message, id);
      return;
    }
    const counted = this.#counts.get(message.type);
    if (counted === undefined) this.#counts.set(message.type, { count: 1 });
    else counted.count++;
    const fate = this.links.fateOf(from.id, to);
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "send", id, from: from.id, to, fate, message });
    this.#judges.sent(from.id, to, message);
    if (fate === "held") this.links.keep({ from: from.id, to, message, id });
    else if (fate === "sent" || fate === "doubled") this.#dispatch(from.id, to, message, id);
    if (fate === "doubled") this.#dispatch(from.id, to, message, id);
  }

  #dispatch(from: NodeId, to: NodeId, message: Message, id: number): void {
    const atMs = this.links.arrivalMs(from, to, this.kernel.nowMs);
    this.kernel.schedule(atMs, this, "message", from * NODES_MAX + to, message, id);
  }

  wake(atMs: number, member: Member, slot: number): void {
    this.kernel.schedule(atMs, this, "timer", slot * NODES_MAX + member.id);
  }

  write(member: Member, ticket: number): void {
    const { disk, life, id } = member;
    disk.lastDueMs =
      Math.max(disk.lastDueMs, this.nowMs + drawLatency(this.#parts.disks, this.spec.diskLatency)) + 1e-6;
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "persist", node: id, ticket });
    this.kernel.schedule(disk.lastDueMs, this, "stored", life * NODES_MAX + id, undefined, ticket);
  }

  announced(member: Member): void {
    const { id, role, leader, term } = member;
    this.lastAnnouncedMs = this.nowMs;
    if (role === "leader" && this.firstLedMs === Infinity) this.firstLedMs = this.nowMs;
    this.trace.hash.mix(term * 64 + leader);
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "announce", node: id, role, leader, term });
    this.#judges.announced(member);
    if (role === "leader" && this.spec.writeEveryMs > 0) attend(this, "elected", member, 0);
  }

  written(write: AcceptedWrite): void {
    this.#judges.written(write);
  }

  hosted(member: Member, event: HostEvent): void {
    this.trace.hash.mix(hashOf(event));
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "hosted", node: member.id, event });
    this.#judges.hosted(member, event);
    this.clients?.note(member, event);
  }

  given(member: Member, what: number): void {
    this.#count(member, what);
  }

  judged(member: Member): void {
    this.#judges.after(member);
  }

  explained(member: Member, rule: string): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "explain", node: member.id, rule });
  }

  // ---- actions -------------------------------------------------------------------------------------------------------------------------

  apply(action: Action): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "action", action });
    switch (action.type) {
      case "crash":
        return this.#crash(this.member(action.node));
      case "restart":
        return this.#restart(this.member(action.node));
      case "pause":
        return this.member(action.node).pause();
      case "resume":
        return this.#resume(this.member(action.node));
      case "crash-role":
        return this.#withRole(action.role).forEach((member) => this.#crash(member));
      case "pause-role":
        return this.#withRole(action.role).forEach((member) => member.pause());
      case "restart-all":
        return this.members.forEach((member) => this.#restart(member));
      case "resume-all":
        return this.members.forEach((member) => this.#resume(member));
      case "tell":
        return this.#tell(this.member(action.node), action.command, action.argument);
      case "expire": {
        const member = this.member(action.node);
        member.hasten(member.slotOf(action.timer, action.subject));
        return;
      }
      case "partition":
      case "cut":
      case "mend":
      case "hold":
      case "release":
      case "heal":
      case "latency":
      case "loss":
      case "duplicate":
        for (const held of changeLinks(this.links, action, this, this.#parts.actions))
          if (!releaseErrand(this, held)) this.#dispatch(held.from, held.to, held.message, held.id);
    }
  }

  #start(member: Member): void {
    this.trace.record(this.nowMs, { type: "start", node: member.id, life: member.life + 1 });
    member.start();
    this.#count(member, 900);
    this.#judges.started(member);
  }

  #restart(member: Member): void {
    if (!member.isUp) this.#start(member);
  }

  #resume(member: Member): void {
    member.resume();
    this.#judges.after(member);
  }

  #withRole(role: Role): readonly Member[] {
    return this.members.filter((member) => member.isUp && member.role === role);
  }

  #crash(member: Member): void {
    if (!member.isUp) return;
    const writes = member.crash(this.#parts.disks, this.spec.losesWrites);
    this.trace.record(this.nowMs, { type: "crash", node: member.id, ...writes });
    const { detectMs } = this.spec;
    if (detectMs === 0) return;
    for (const { id } of this.members)
      this.kernel.schedule(this.nowMs + detectMs, this, "suspect", id, undefined, member.id);
  }

  #suspect(member: Member, dead: NodeId): void {
    if (!this.member(dead).isUp) this.#tell(member, "suspect", dead);
  }

  #tell(member: Member, command: string, argument: number): void {
    const told = commandOf(this.subject, command, argument);
    if (!member.isUp) return;
    this.#count(member, 901);
    member.command(told);
    this.#judges.after(member);
  }
}
