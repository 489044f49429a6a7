// The world of STONITH: machines with candidates that run the real machine, agents and devices, guarded work, a store with bans, humans, faults, and a calm at the end in which work must go on.
import { nextBetween, nextChance } from "../../base/rng.ts";
import { isSameStint, type Stint, type StonithRecord } from "../../stonith/record.ts";
import type { StonithOrder } from "../../stonith/orders.ts";
import type { StonithSight } from "../../stonith/state.ts";
import type { MemoAnswer, ModelMemoWrite } from "../kernel/memo.ts";
import type { SeatHolder } from "../kernel/seat.ts";
import { SeatWorld } from "../kernel/seat-world.ts";
import type { TaskWorldOptions } from "../kernel/task-world.ts";
import { type Aim, StonithJudge } from "./judge.ts";
import { SimMember } from "./member.ts";
import { SimNode, type SimWork } from "./machine-room.ts";
import { inflict } from "./nemesis.ts";
import { Operator } from "./operator.ts";
import type { StonithFault, StonithWorldSpec } from "./spec.ts";
import { StonithStore } from "./store.ts";
import { STONITH_MINIMA, type StonithTally } from "./tallies.ts";
import type { StonithEvent, StonithHappening } from "./trace.ts";

const TURN_MS = 25;
/** Agents are killed this long before the deadline of their term. */
const GRACE_MS = 30;
/** The time for which a machine is off after its watchdog has reset it. */
const RESET_MS = 200;
const OPERATOR_MS = 1000;
/** In the calm some work must run, or have run this recently. */
const IDLE_MAX_MS = 6000;

export class StonithWorld extends SeatWorld<StonithWorldSpec, StonithEvent, StonithTally> {
  readonly judge: StonithJudge;
  readonly store: StonithStore<SimMember> = new StonithStore();
  readonly nodes: readonly SimNode[];
  readonly operator: Operator = new Operator(this);
  readonly works: SimWork[] = [];
  order: StonithOrder | undefined;
  #atWorkMs = 0;
  #hasPaused = false;

  constructor(spec: StonithWorldSpec, options: TaskWorldOptions) {
    super(spec, options, { stream: 102, minima: STONITH_MINIMA });
    this.judge = new StonithJudge(spec.plan, options.judgedBy);
    this.nodes = spec.nodes.map((name) => new SimNode(name, new SimMember(this, name)));
    for (const { member } of this.nodes) this.later(nextBetween(this.rng, 0, 300), member, () => member.begin());
    this.arrangeFaults();
    this.every(TURN_MS, () => this.#turn());
    this.every(OPERATOR_MS, () => this.isCalm && this.operator.help());
  }

  /** All agents that can still give an order, anywhere. */
  get aims(): readonly Aim[] {
    return this.nodes.flatMap(({ aims }) => aims);
  }

  get alive(): readonly Stint[] {
    return this.works.filter(({ isAlive }) => isAlive).map(({ stint }) => stint);
  }

  get sight(): StonithSight {
    return { notes: this.store.notes, order: this.order, foreign: [] };
  }

  node(name: string): SimNode {
    const found = this.nodes.find((node) => node.name === name);
    if (found === undefined) throw new RangeError(`there is no node ${name}`);
    return found;
  }

  note(happening: StonithHappening): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "stonith", ...happening });
  }

  // ---- the store

  claim(member: SimMember): void {
    this.store.seat.claim(member);
  }

  /** Releases the seat. It needs the store; if the store is away, the seat expires. */
  release(member: SimMember): void {
    const { seat } = this.store;
    seat.claims.delete(member);
    if (seat.holder === undefined || !seat.isHeldBy(member)) return;
    if (member.isAble) seat.holder = undefined;
    else seat.holder.isTold = true;
  }

  isHeld(member: SimMember): boolean {
    const { seat } = this.store;
    return seat.isHeldBy(member) && this.nowMs < (seat.holder?.deadlineMs ?? 0);
  }

  isLeading(member: SimMember): boolean {
    return this.leads(this.store.seat, member);
  }

  writeRecord(member: SimMember, write: ModelMemoWrite<StonithRecord>): MemoAnswer {
    const old = this.store.record?.value;
    const answer = this.store.writeRecord(member.name, write);
    if (answer.is === "seat-lost") this.count("records refused to a replaced leader");
    if (answer.is !== "written" || !answer.isApplied) return answer;
    this.#countChanges(old, write.value);
    this.judge.applied(old, write.value, this.alive, this.nowMs);
    this.strike(member);
    return answer;
  }

  #countChanges(old: StonithRecord | undefined, record: StonithRecord): void {
    if (record.opened > (old?.opened ?? 0)) this.count("intents opened");
    for (const { id, token, joined } of record.intents) {
      const before = old?.intents.find((intent) => intent.id === id)?.joined ?? [];
      const late = joined.filter((stint) => stint.token !== token && !before.some((each) => isSameStint(each, stint)));
      this.count("intents joined by another term", late.length);
    }
    for (const intent of record.intents)
      if (intent.off?.by === "watchdog" && old?.intents.find(({ id }) => id === intent.id)?.off === undefined)
        this.count("fenced by a watchdog");
    const answered = record.orders.filter(({ id }) => !(old?.orders ?? []).some((each) => each.id === id));
    for (const { id, isDone } of answered)
      if (id.startsWith("c")) this.count(isDone ? "confirmations by a human" : "confirmations refused");
  }

  writeBan(member: SimMember, target: string, write: ModelMemoWrite<boolean>): MemoAnswer {
    const wasBanned = this.store.isBanned(target);
    const answer = this.store.writeBan(member.name, target, write);
    if (answer.is !== "written" || !answer.isApplied) return answer;
    this.note({ is: write.value ? "banned" : "lifted", node: member.name, target });
    if (!write.value) {
      if (wasBanned) this.count("bans lifted");
      if (this.alive.length > 0) this.count("bans that outlasted the takeover");
      this.judge.lifts(target, this.aims, this.nowMs);
    }
    this.strike(member);
    return answer;
  }

  endSessions(member: SimMember, target: string, write: ModelMemoWrite<boolean>): MemoAnswer {
    const { answer, ended } = this.store.endSessions(member.name, target, write);
    if (answer.is !== "written") return answer;
    if (ended.length > 0) this.note({ is: "ends-sessions", node: member.name, target });
    this.count("sessions ended early", ended.length);
    const living = ended.filter(({ life }) => this.#lives(target, life)).map(({ life }) => life);
    this.judge.ends(target, living, this.nowMs);
    if (answer.isApplied) this.strike(member);
    return answer;
  }

  /** A process that is paused lives, and so does work that outlives its process. */
  #lives(name: string, life: string): boolean {
    const { member } = this.node(name);
    return (member.isAlive && member.life === life) || this.alive.some((stint) => stint.life === life);
  }

  /** Strikes right after a write, and before its writer hears of it; or right before an agent is started. */
  strike(member: SimMember, chance: number = this.spec.strikeChance): void {
    if (this.isCalm || !nextChance(this.rng, chance)) return;
    this.count("shooters struck between two steps");
    const lastsMs = nextBetween(this.rng, 0, 5 * this.spec.ttlMs);
    if (nextChance(this.rng, 0.4)) this.kill(member, lastsMs);
    else this.pauseNode(this.node(member.name), lastsMs);
  }

  /** The last look is over, and the agent is about to be started. */
  beforeAgent(member: SimMember): void {
    const { pauseFirstShooterMs, strikeChance } = this.spec;
    if (pauseFirstShooterMs === undefined || this.#hasPaused) return this.strike(member, 2 * strikeChance);
    this.#hasPaused = true;
    this.pauseNode(this.node(member.name), pauseFirstShooterMs);
  }

  /** Renews, warns, ends agents, runs watchdogs, frees a seat that has expired, and grants. */
  #turn(): void {
    const { seat } = this.store;
    if (this.alive.length > 0) this.#atWorkMs = this.nowMs;
    if (seat.holder !== undefined) this.#turnSeat(seat.holder);
    for (const node of this.nodes) this.#keep(node);
    this.#keepSessions();
    const granted = this.grantOne(seat, ({ name }) => !this.store.isBanned(name));
    if (granted === undefined) return;
    const { process: member, token } = granted;
    this.note({ is: "granted", node: member.name, token });
    this.later(this.travel(), member, () => {
      if (seat.holder === granted) member.granted(granted);
    });
  }

  #turnSeat(holder: SeatHolder<SimMember>): void {
    const { process: member } = holder;
    const ended = (): void => member.ended();
    this.attend(holder, !this.store.isBanned(member.name), ended);
    this.runOut(holder, () => (this.store.seat.holder = undefined), ended);
  }

  /** The keeper of the agents, which a paused machine pauses with everything else; and the hardware watchdog, which it does not pause. */
  #keep(node: SimNode): void {
    const { holder } = this.store.seat;
    for (const agent of node.agents) {
      const isInTime =
        holder !== undefined &&
        String(holder.token) === agent.aim.by.token &&
        this.nowMs < holder.deadlineMs - GRACE_MS;
      const isKept = node.member.isAlive && node.member.life === agent.aim.by.life && isInTime;
      if (!isKept && agent.pauses === 0) agent.kill();
    }
    if (node.fedAtMs === undefined) return;
    if (node.member.pauses === 0 && node.member.isAlive && this.isHeld(node.member)) node.fedAtMs = this.nowMs;
    if (this.nowMs < node.fedAtMs + node.resetAfterMs) return;
    this.note({ is: "reset", node: node.name });
    this.powerOff(node, RESET_MS);
  }

  #keepSessions(): void {
    this.store.sessions = this.store.sessions.filter(({ expiresMs }) => this.nowMs < expiresMs);
    for (const { name, member } of this.nodes)
      if (member.isAble) this.store.keepSession(name, member.life, this.nowMs + this.spec.ttlMs);
  }

  // ---- work

  beginWork(member: SimMember, stint: Stint): SimWork {
    const node = this.node(member.name);
    this.count("works begun");
    this.note({ is: "begins", stint });
    this.judge.begins(stint, this.alive, this.store.record?.value, this.nowMs);
    const work: SimWork = { stint, node, incarnation: member.incarnation, isAlive: true };
    this.works.push(work);
    const timeoutMs = this.spec.watchdogs[node.name];
    if (timeoutMs !== undefined) {
      node.fedAtMs = this.nowMs;
      node.resetAfterMs = timeoutMs * nextBetween(this.rng, 1, 2);
    }
    return work;
  }

  endWork(work: SimWork): void {
    work.isAlive = false;
    work.node.fedAtMs = undefined;
    this.works.splice(this.works.indexOf(work), 1);
    this.#atWorkMs = this.nowMs;
    this.note({ is: "ended", stint: work.stint });
  }

  /** Tells whether nothing is left of a process on a node, as a process that runs there now can prove it. `life`: that of the process that asks. */
  isNothingLeft(stint: Stint, life: string): boolean {
    const { member } = this.node(stint.node);
    if (stint.life !== life && member.isAlive && member.life === stint.life) return false;
    const acts = this.works.some((work) => work.isAlive && isSameStint(work.stint, stint));
    return !acts && !this.aims.some(({ by }) => isSameStint(by, stint));
  }

  // ---- devices

  /** A device that is asked tells the truth, or nothing. */
  askDevice(name: string): "on" | "off" | "unknown" {
    if (!this.isCalm && nextChance(this.rng, this.spec.muteChance)) return "unknown";
    return this.node(name).isOn ? "on" : "off";
  }

  /** The order of an agent takes effect. */
  hit(aim: Aim): void {
    const node = this.node(aim.node);
    const { holder } = this.store.seat;
    const isHeld = holder !== undefined && this.nowMs < holder.deadlineMs;
    const leader = isHeld ? holder.process.name : undefined;
    if (String(holder?.token) !== aim.by.token) this.count("shots of a term that was over");
    if (node.isOn) this.count("shots that hit");
    const down = this.nodes.filter((each) => each.isShotDown || (each === node && node.isOn)).map(({ name }) => name);
    const isBanned = this.store.isBanned(aim.node);
    this.judge.hits({ aim, leader, isBanned, record: this.store.record?.value, shotDown: down }, this.nowMs);
    if (!node.isOn) return;
    node.isShotDown = true;
    this.powerOff(node, nextBetween(this.rng, 300, this.spec.bootMaxMs));
  }

  /** Everything on the machine ends at once. The seat expires. */
  powerOff(node: SimNode, bootAfterMs: number): void {
    if (!node.isOn) return;
    this.note({ is: "off", node: node.name });
    node.isOn = false;
    node.fedAtMs = undefined;
    node.pending.clear();
    for (const agent of node.agents) agent.kill();
    for (const work of this.works.filter((each) => each.node === node)) this.endWork(work);
    this.store.seat.claims.delete(node.member);
    if (node.member.isAlive) node.member.kill();
    this.later(bootAfterMs, undefined, () => this.#boot(node));
  }

  #boot(node: SimNode): void {
    if (node.isOn) return;
    node.isOn = true;
    node.isShotDown = false;
    node.boots++;
    if (this.store.isBanned(node.name)) this.count("banned nodes that returned");
    this.note({ is: "on", node: node.name });
    node.member.begin();
  }

  pauseNode(node: SimNode, lastsMs: number): void {
    this.note({ is: "paused", node: node.name, lastsMs });
    for (const process of [node.member, ...node.agents]) this.pause(process, lastsMs);
  }

  // ---- faults

  protected override inflict(fault: StonithFault): void {
    inflict(this, fault);
  }

  /** A candidate is killed. Processes that it has started may go on: its keeper ends the agents, and a part of its work may survive. */
  protected override dying(member: SimMember): void {
    const node = this.node(member.name);
    this.note({ is: "killed", node: member.name });
    this.store.seat.claims.delete(member);
    node.pending.clear();
    const { work } = member;
    if (work === undefined || !work.isAlive) return;
    if (!nextChance(this.rng, this.spec.survivesChance)) return this.endWork(work);
    this.count("works that survived their process");
    this.later(nextBetween(this.rng, 0, 3 * this.spec.ttlMs), undefined, () => work.isAlive && this.endWork(work));
  }

  protected override calm(): void {
    super.calm();
    this.note({ is: "calm" });
  }

  /** Nothing has failed for long: work goes on, and no ban is left over. */
  protected override judgeAtRest(): void {
    if (this.nowMs - this.spec.calmAtMs < IDLE_MAX_MS) return;
    if (this.nowMs - this.#atWorkMs > IDLE_MAX_MS)
      this.judge.find(
        "progress",
        `nothing was at work for long; the record: ${JSON.stringify(this.store.record?.value.acting)} ${JSON.stringify(this.store.record?.value.intents)}`,
        this.nowMs,
      );
    const left = this.store.bans.filter((node) => !this.aims.some((aim) => aim.node === node));
    const open = this.store.record?.value.intents ?? [];
    if (left.length > 0 && open.length > 0 && this.#isOld(open[0]?.token))
      this.judge.find("bans-end", `${left.join(", ")} is still banned: ${JSON.stringify(open)}`, this.nowMs);
  }

  #isOld(token: string | undefined): boolean {
    return Number(token) < (this.store.seat.holder?.token ?? 0) - 3;
  }
}
