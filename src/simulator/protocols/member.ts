// One member: a protocol's node with its clock, its timers, its disk and its lives. It hands inputs to the node and turns the node's effects into events of the world.
//
// A timer is a due time and at most one live wake-up in the kernel, at or before it. A heartbeat moves the election timer further away a million times. That moves only the due time; the wake-up finds
// out when it comes, and goes on to the new one.
import { clonePlain } from "../../base/clone.ts";
import { createRng, type Rng } from "../../base/rng.ts";
import { type Command, type Message, NOBODY, type NodeId, type Role, type Setup } from "../../protocols/node.ts";
import type { LogEntry, LogEffects, Snapshot } from "../../protocols/log-node.ts";
import { type CrashedWrites, Disk } from "../kernel/disk.ts";
import type { SeenLog, SeenMember } from "./invariants/invariant.ts";
import { type HostSurroundings, Replica } from "./replica.ts";
import type { AnySubject } from "./subject.ts";

/** A member's wishes, as the world carries them out. */
export interface MemberSurroundings extends HostSurroundings {
  readonly nowMs: number;
  send(from: Member, to: NodeId, message: Message): void;
  wake(atMs: number, member: Member, slot: number): void;
  write(member: Member, ticket: number): void;
  announced(member: Member): void;
  explained(member: Member, rule: string): void;
}

export interface MemberSpec {
  readonly setup: Omit<Setup, "rng">;
  readonly seed: number;
  /** Local milliseconds per true millisecond, and the reading of its clock at true time 0. */
  readonly clockRate: number;
  readonly clockStartMs: number;
}

/** An input that came to a paused member. */
interface Waiting {
  readonly kind: "message" | "timer" | "stored" | "command";
  readonly number: number;
  readonly content: Message | Command | undefined;
}

const NEVER = Infinity;

export class Member implements LogEffects, SeenMember {
  readonly id: NodeId;
  readonly spec: MemberSpec;
  readonly subject: AnySubject;
  readonly node: AnySubject["node"];
  /** The host of a node with a log, in this life. */
  replica: Replica | undefined;
  state: object;
  life = 0;
  /** The true time at which this life began. */
  startedMs = 0;
  isUp = false;
  isPaused = false;
  /** The true time at which it last went on after a pause. */
  resumedMs: number = -Infinity;
  /** The role as last announced. */
  role: Role = "follower";
  leader: NodeId = NOBODY;
  term = 0;
  disk: Disk;
  readonly #world: MemberSurroundings;
  /** Slot → the true time at which it is due. */
  readonly #due: Float64Array;
  /** Slot → the true time of the live wake-up. */
  readonly #armed: Float64Array;
  readonly #kinds: number;
  readonly #waiting: Waiting[] = [];

  constructor(world: MemberSurroundings, subject: AnySubject, spec: MemberSpec) {
    const { node } = subject;
    this.#world = world;
    this.subject = subject;
    this.node = node;
    this.spec = spec;
    this.id = spec.setup.id;
    this.disk = new Disk(node);
    this.#kinds = node.timers.length;
    const slots = this.#kinds * (spec.setup.members.length + 1);
    this.#due = new Float64Array(slots).fill(NEVER);
    this.#armed = new Float64Array(slots).fill(NEVER);
    this.state = node.create({ ...spec.setup, rng: this.#luck() });
    this.replica = this.#host();
  }

  fork(world: MemberSurroundings): Member {
    const fork = new Member(world, this.subject, this.spec);
    const { life, startedMs, isUp, isPaused, resumedMs, role, leader, term } = this;
    Object.assign(fork, {
      life,
      startedMs,
      isUp,
      isPaused,
      resumedMs,
      role,
      leader,
      term,
      state: clonePlain(this.state),
      disk: this.disk.fork(),
    });
    fork.#due.set(this.#due);
    fork.#armed.set(this.#armed);
    fork.#waiting.push(...this.#waiting);
    if (this.subject.log !== undefined) fork.replica = this.replica?.fork(world, fork, this.subject);
    return fork;
  }

  #host(): Replica | undefined {
    return this.subject.log === undefined ? undefined : new Replica(this.#world, this, this.subject);
  }

  get log(): SeenLog | undefined {
    return this.replica;
  }

  get clockRate(): number {
    return this.spec.clockRate;
  }

  /** Returns the reading of its clock. */
  now(): number {
    return this.spec.clockStartMs + this.#world.nowMs * this.spec.clockRate;
  }

  leads(): boolean {
    if (!this.isUp) return false;
    return this.node.leads === undefined ? this.role === "leader" : this.node.leads(this.state, this.now());
  }

  #luck(): Rng {
    return createRng(this.spec.seed, 100_000 + this.id * 1000 + this.life);
  }

  // ---- lives ---------------------------------------------------------------------------------------------------------------------------

  start(): void {
    this.life++;
    this.startedMs = this.#world.nowMs;
    this.isUp = true;
    this.isPaused = false;
    const leader = this.life === 1 ? this.spec.setup.leader : NOBODY;
    this.state = this.node.create({ ...this.spec.setup, leader, rng: this.#luck() });
    this.replica = this.#host();
    this.node.start(this.state, this.disk.image, this.now(), this);
  }

  crash(rng: Rng, losesWrites: boolean): CrashedWrites {
    this.isUp = false;
    this.isPaused = false;
    this.#due.fill(NEVER);
    this.#waiting.length = 0;
    this.#believe("follower", NOBODY, 0);
    return this.disk.crash(rng, losesWrites);
  }

  pause(): void {
    this.isPaused = this.isUp;
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.resumedMs = this.#world.nowMs;
    for (const { kind, number, content } of this.#waiting.splice(0)) {
      if (!this.isUp) return;
      if (kind === "message" && content !== undefined) this.receive(number, content);
      else if (kind === "timer") this.woken(number);
      else if (kind === "stored") this.stored(number);
      else if (kind === "command" && content !== undefined) this.command(content);
    }
  }

  // ---- inputs: each says whether the node has been given it ----------------------------------------------------------------------------

  receive(from: NodeId, message: Message): boolean {
    if (this.isPaused) return this.#wait("message", from, message);
    this.node.receive(this.state, from, message, this.now(), this);
    return true;
  }

  stored(ticket: number): boolean {
    if (this.isPaused) return this.#wait("stored", ticket);
    this.node.stored(this.state, ticket, this.now(), this);
    return true;
  }

  command(command: Command): boolean {
    if (this.isPaused) return this.#wait("command", 0, command);
    this.node.command(this.state, command, this.now(), this);
    return true;
  }

  /** A wake-up has come. Returns false if the timer was moved or cancelled meanwhile. */
  woken(slot: number): boolean {
    const nowMs = this.#world.nowMs;
    if (this.#armed[slot] === nowMs) this.#armed[slot] = NEVER;
    const dueMs = this.#due[slot] as number;
    if (dueMs > nowMs) {
      this.#arm(slot, dueMs);
      return false;
    }
    if (this.isPaused) return this.#wait("timer", slot);
    this.#due[slot] = NEVER;
    this.node.expire(this.state, slot % this.#kinds, (slot / this.#kinds) | 0, this.now(), this);
    return true;
  }

  #wait(kind: Waiting["kind"], number: number, content?: Message | Command): false {
    this.#waiting.push({ kind, number, content });
    return false;
  }

  // ---- timers, for the world -----------------------------------------------------------------------------------------------------------

  /** Makes a running timer due now. */
  hasten(slot: number): boolean {
    if ((this.#due[slot] ?? NEVER) === NEVER) return false;
    this.#due[slot] = this.#world.nowMs;
    this.#arm(slot, this.#world.nowMs);
    return true;
  }

  isDue(slot: number): boolean {
    return (this.#due[slot] as number) <= this.#world.nowMs && !this.isPaused;
  }

  /** Returns the due time in true time; Infinity: the timer does not run. */
  dueMs(timer: number, subject = 0): number {
    return this.#due[timer + subject * this.#kinds] ?? NEVER;
  }

  timerOf(slot: number): string {
    return this.node.timers[slot % this.#kinds] ?? "";
  }

  subjectOf(slot: number): number {
    return (slot / this.#kinds) | 0;
  }

  slotOf(timer: string, subject: number): number {
    const { name, timers } = this.node;
    if (!timers.includes(timer)) throw new RangeError(`${name} has no timer ${timer}: ${timers.join(", ")}`);
    return timers.indexOf(timer) + subject * this.#kinds;
  }

  #arm(slot: number, dueMs: number): void {
    if ((this.#armed[slot] as number) <= dueMs) return;
    this.#armed[slot] = dueMs;
    this.#world.wake(dueMs, this, slot);
  }

  // ---- effects -------------------------------------------------------------------------------------------------------------------------

  send(to: NodeId, message: Message): void {
    this.#world.send(this, to, message);
  }

  setTimer(timer: number, afterMs: number, subject = 0): void {
    const slot = timer + subject * this.#kinds;
    const dueMs = this.#world.nowMs + (afterMs > 0 ? afterMs / this.spec.clockRate : 0);
    this.#due[slot] = dueMs;
    this.#arm(slot, dueMs);
  }

  cancelTimer(timer: number, subject = 0): void {
    this.#due[timer + subject * this.#kinds] = NEVER;
  }

  persist(ticket: number, write: unknown): void {
    this.disk.accept(ticket, write);
    this.#world.write(this, ticket);
  }

  announce(role: Role, leader: NodeId, term: number): void {
    if (this.#believe(role, leader, term)) this.#world.announced(this);
  }

  apply(entry: LogEntry<unknown>): void {
    this.replica?.apply(entry);
  }

  restore(snapshot: Snapshot<unknown>): void {
    this.replica?.restore(snapshot);
  }

  readable(request: number): void {
    this.replica?.readable(request);
  }

  /** The client asks again when it pleases. */
  unreadable(): void {}

  explain(rule: string): void {
    this.#world.explained(this, rule);
  }

  #believe(role: Role, leader: NodeId, term: number): boolean {
    if (role === this.role && leader === this.leader && term === this.term) return false;
    this.role = role;
    this.leader = leader;
    this.term = term;
    return true;
  }
}
