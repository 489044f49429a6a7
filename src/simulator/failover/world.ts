// The world of failovers: monitors and guards that run the real machines, services with writes of clients, a store with two seats and a record, faults, and a calm at the end. In the calm there must be
// one primary, and all others must follow it.
import { nextBetween, nextChance } from "../../base/rng.ts";
import type { Order } from "../../failover/orders.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import type { MemoAnswer, ModelMemoWrite } from "../kernel/memo.ts";
import { type SeatHolder, SimSeat } from "../kernel/seat.ts";
import { SeatWorld } from "../kernel/seat-world.ts";
import type { TaskWorldOptions } from "../kernel/task-world.ts";
import { SimGuard } from "./guard.ts";
import { FailoverJudge } from "./judge.ts";
import { SimMonitor } from "./monitor.ts";
import { inflict } from "./nemesis.ts";
import type { FailoverProcess, SeatedPrimary, SeatName } from "./process.ts";
import { RecordShelf, VoteBox } from "./record-shelf.ts";
import { SimService } from "./service.ts";
import { replicate, writeEverywhere } from "./traffic.ts";
import type { FailoverFault, FailoverWorldSpec } from "./spec.ts";
import { FAILOVER_MINIMA, type FailoverTally } from "./tallies.ts";
import type { FailoverEvent, FailoverHappening } from "./trace.ts";

const WRITE_EVERY_MS = 60;
const COPY_EVERY_MS = 30;
const SEATS_EVERY_MS = 20;
/** The keeper kills this long before the deadline. */
const GRACE_MS = 30;
const BOOT_MS = 500;

export class FailoverWorld extends SeatWorld<FailoverWorldSpec, FailoverEvent, FailoverTally> {
  readonly judge: FailoverJudge;
  readonly seats: Readonly<Record<SeatName, SimSeat<FailoverProcess, SeatedPrimary>>> = {
    leader: new SimSeat(),
    primary: new SimSeat(),
  };
  readonly shelf: RecordShelf = new RecordShelf();
  readonly votes: VoteBox = new VoteBox();
  readonly services: readonly SimService[];
  readonly guards: readonly SimGuard[];
  readonly monitors: readonly SimMonitor[];
  order: Order | undefined;
  /** The last number that was given out. */
  writes = 0;
  #orders = 0;

  constructor(spec: FailoverWorldSpec, options: TaskWorldOptions) {
    super(spec, options, { stream: 92, minima: FAILOVER_MINIMA });
    this.judge = new FailoverJudge(spec.plan, options.judgedBy);
    this.services = Object.keys(spec.plan.servers).map((name) => new SimService(name, spec.hasTimelines));
    this.guards = spec.plan.hasGuards ? this.services.map((service) => new SimGuard(this, service)) : [];
    this.monitors = spec.plan.monitors.map((name) => new SimMonitor(this, name));
    for (const process of [...this.monitors, ...this.guards])
      this.later(nextBetween(this.rng, 0, 300), process, () => process.begin());
    if (!spec.plan.hasGuards) this.#startServices(spec.runsAlready);
    this.arrangeFaults();
    this.every(WRITE_EVERY_MS, () => writeEverywhere(this));
    this.every(COPY_EVERY_MS, () => replicate(this));
    for (const { atMs, server } of spec.strays) this.later(atMs, undefined, () => this.#stray(this.service(server)));
    this.every(SEATS_EVERY_MS, () => this.#turnSeats());
  }

  /** Starts the services as an operator has left them: all are replicas, or one is the primary with some writes, which the others copy. */
  #startServices(running: number | undefined): void {
    const primary = running === undefined ? undefined : this.services[running];
    for (const service of this.services) service.start(service === primary ? undefined : primary?.name);
    if (primary === undefined) return;
    primary.promote(1, "before");
    for (let count = 0; count < 5; count++) primary.write(++this.writes);
    for (const service of this.services) if (service !== primary) service.copy(primary, this.spec.copyMax);
  }

  service(name: string): SimService {
    const found = this.services.find((service) => service.name === name);
    if (found === undefined) throw new RangeError(`there is no service ${name}`);
    return found;
  }

  guardOf(name: string): SimGuard | undefined {
    return this.guards.find(({ service }) => service.name === name);
  }

  note(happening: FailoverHappening): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "failover", ...happening });
  }

  // ---- the store

  claim(seat: SeatName, process: FailoverProcess): void {
    this.seats[seat].claim(process);
  }

  /** Releases a seat, or gives up a claim. It needs the store; if the store is away, the seat expires. */
  release(seat: SeatName, process: FailoverProcess): void {
    const place = this.seats[seat];
    place.claims.delete(process);
    const { holder } = place;
    if (holder === undefined || !place.isHeldBy(process)) return;
    if (process.isAble) this.#free(seat, holder);
    else holder.isTold = true;
  }

  isLeading(seat: SeatName, process: FailoverProcess): boolean {
    return this.leads(this.seats[seat], process);
  }

  say(process: FailoverProcess, value: SeatedPrimary): void {
    const { primary } = this.seats;
    if (primary.holder !== undefined && primary.isHeldBy(process)) primary.holder.value = value;
  }

  writeRecord(monitor: SimMonitor, write: ModelMemoWrite<FailoverRecord>): MemoAnswer {
    const old = this.shelf.stored?.value;
    const answer = this.shelf.write(this.seats.leader.holder?.token, write);
    if (answer.is !== "written") this.count("records refused to a replaced leader");
    if (answer.is !== "written" || !answer.isApplied) return answer;
    const { value: record } = write;
    this.note({ is: "written", monitor: monitor.name, epoch: record.epoch, step: record.step });
    this.judge.applied(old, record, this.services, this.nowMs);
    if (record.step.at === "fencing" && old?.epoch !== record.epoch && record.step.why === "down")
      this.count("automatic failovers");
    if (record.step.at === "handing-over") this.count("switchovers");
    if (old?.step.at === "handing-over" && record.step.at === "steady") this.count("switchovers given up");
    if (record.step.at === "repointing" && old?.primary === undefined) this.count("first primaries");
    for (const guard of this.guards) guard.shown();
    this.#strike(monitor, record.step.at);
    return answer;
  }

  #strike(monitor: SimMonitor, step: FailoverWorldSpec["strikesAfter"][number]): void {
    if (this.isCalm || !this.spec.strikesAfter.includes(step) || !nextChance(this.rng, this.spec.strikeChance)) return;
    this.count("leaders struck between two steps");
    const isKilled = nextChance(this.rng, 0.5);
    const lastsMs = nextBetween(this.rng, 0, 3 * this.spec.ttlMs);
    if (isKilled) this.kill(monitor, lastsMs);
    else this.pause(monitor, lastsMs);
  }

  #free(seat: SeatName, holder: SeatHolder<FailoverProcess, SeatedPrimary>): void {
    const place = this.seats[seat];
    if (place.holder !== holder) return;
    place.holder = undefined;
    if (seat === "primary" && holder.process instanceof SimGuard) this.judge.freed(holder.process.service, this.nowMs);
  }

  /** Renews, warns, kills in place of a keeper, frees seats that have expired, and grants. */
  #turnSeats(): void {
    for (const seat of ["leader", "primary"] as const) {
      const place = this.seats[seat];
      const { holder } = place;
      if (holder !== undefined) this.#turn(seat, holder);
      const granted = this.grantOne(place);
      if (granted === undefined) continue;
      this.later(this.travel(), granted.process, () => {
        if (place.holder === granted) granted.process.granted(seat, granted);
      });
    }
  }

  #turn(seat: SeatName, holder: SeatHolder<FailoverProcess, SeatedPrimary>): void {
    const { process } = holder;
    const ended = (): void => process.ended(seat);
    this.attend(holder, true, ended);
    if (process instanceof SimGuard && this.nowMs >= holder.deadlineMs - GRACE_MS) this.#keep(process);
    this.runOut(holder, () => this.#free(seat, holder), ended);
  }

  /** The keeper kills the service. The guard finds the cell empty when it looks again. */
  #keep(guard: SimGuard): void {
    if (!guard.service.isWritable) return;
    this.count("services killed by their keeper");
    this.killService(guard.service);
  }

  // ---- services

  promote(service: SimService, generation: number): void {
    // A server that is the primary already stays what it is, with the same history: Redis does nothing then.
    if (service.isRightful) return;
    // As in src/failover/postgres-link.ts, a number is used once.
    if (service.hasTimelines && service.timeline >= generation) return;
    service.promote(generation, `h${++this.writes}`);
    this.count("promotions");
    const { holder } = this.seats.primary;
    const seated = holder?.process instanceof SimGuard ? holder.process.service.name : undefined;
    this.note({ is: "writable", server: service.name });
    this.judge.becameWritable(service, this.services, seated, this.nowMs);
    this.#countLosses(service);
  }

  #countLosses(service: SimService): void {
    const { acknowledged } = this.judge;
    const lost = [...acknowledged].filter((write) => !service.has(write));
    if (lost.length > 0) this.count("acknowledged writes lost without synchrony", lost.length);
    for (const write of lost) acknowledged.delete(write);
  }

  // ---- faults

  /** Somebody promotes a replica beside its guard. */
  #stray(service: SimService): void {
    const record = this.shelf.stored?.value;
    if (record?.step.at !== "steady" || record.primary === service.name || !service.isAlive) return;
    if (service.role !== "replica" || this.guardOf(service.name)?.state.at !== "replica") return;
    service.strayFrom(`stray${++this.writes}`);
    this.count("strays");
    this.note({ is: "writable", server: service.name });
  }

  /** An order to follow `primary` arrives, over a connection on which the server took writes after so many promotions. */
  takeBack(service: SimService, primary: string, { incarnation, promotions }: SimService["connection"]): void {
    if (!service.isAlive || service.incarnation !== incarnation || service.promotions !== promotions) return;
    this.judge.toldToFollow(service, primary, this.nowMs);
    if (service.isStray) this.count("strays taken back");
    service.obey(primary);
  }

  killService(service: SimService): void {
    if (!service.isAlive) return;
    this.end(service);
    const guard = this.guardOf(service.name);
    if (guard?.isAlive === true) guard.serviceEnded();
  }

  /** A disk keeps writes that were synced; without synchrony, all may be lost. */
  end(service: SimService): void {
    service.kill(!this.spec.hasTimelines && nextChance(this.rng, this.spec.forgetsChance));
    this.note({ is: "dead", server: service.name });
  }

  protected override inflict(fault: FailoverFault): void {
    inflict(this, fault);
  }

  protected override dying(process: FailoverProcess): void {
    this.note({ is: "killed", process: process.name });
    for (const seat of ["leader", "primary"] as const) this.seats[seat].claims.delete(process);
    if (process instanceof SimGuard) this.#settleFor(process);
  }

  /** The keeper of a guard that has died kills the service at once, and then gives the seat back. */
  #settleFor(guard: SimGuard): void {
    const { holder } = this.seats.primary;
    const { incarnation } = guard.service;
    this.later(nextBetween(this.rng, 0, 20), undefined, () => {
      if (guard.service.incarnation === incarnation) this.killService(guard.service);
      if (holder !== undefined && holder.process === guard && !this.isStoreDown) this.#free("primary", holder);
    });
  }

  override pause(process: FailoverProcess, lastsMs: number): void {
    this.note({ is: "paused", process: process.name });
    super.pause(process, lastsMs);
  }

  /** Guard, keeper and service end at once: only the ttl is left. */
  powerOff(server: string): void {
    const service = this.service(server);
    if (!service.isPowered) return;
    this.note({ is: "powered-off", server });
    service.isPowered = false;
    const guard = this.guardOf(server);
    service.kill(false);
    if (guard !== undefined) {
      guard.kill();
      this.seats.primary.claims.delete(guard);
    }
    this.later(BOOT_MS + nextBetween(this.rng, 0, 2000), undefined, () => this.#boot(service, guard));
  }

  #boot(service: SimService, guard: SimGuard | undefined): void {
    service.isPowered = true;
    if (guard !== undefined) guard.begin();
    else service.start(undefined);
  }

  command(to: string | undefined): void {
    this.order = { id: `o${++this.#orders}`, kind: "switchover", to, isForced: false };
  }

  pauseFailover(isPaused: boolean): void {
    this.order = { id: `o${++this.#orders}`, kind: isPaused ? "pause" : "resume" };
  }

  protected override calm(): void {
    super.calm();
    for (const service of this.services) service.mutes = service.lags = 0;
    for (const { blind, name } of this.monitors) {
      blind.clear();
      for (const server of this.spec.lastingCuts[name] ?? []) blind.add(server);
    }
    this.pauseFailover(false);
    this.note({ is: "calm" });
  }

  /** Nothing has failed for long: there is one primary, and all others follow it and have its writes. */
  protected override judgeAtRest(): void {
    const writable = this.services.filter(({ isWritable }) => isWritable).map(({ name }) => name);
    const record = this.shelf.stored?.value;
    const isStuck = this.#isExcused();
    const fail = (story: string): void => this.judge.find("progress", story, this.nowMs);
    if (isStuck) return;
    if (writable.length !== 1)
      return fail(`${writable.join(", ") || "nobody"} is writable; the record says ${JSON.stringify(record?.step)}`);
    if (record?.step.at !== "steady" || record.primary !== writable[0])
      return fail(`${writable[0]} is writable; the record says ${record?.primary}, ${JSON.stringify(record?.step)}`);
    const stray = this.services.filter((service) => service.name !== writable[0] && service.follows !== writable[0]);
    if (stray.length > 0) fail(`${stray.map(({ name }) => name).join(", ")} does not follow ${writable[0]}`);
  }

  /** Every server that could be chosen and had a history of a primary has lost it: then no server may be chosen, and a human must choose. */
  #isExcused(): boolean {
    const record = this.shelf.stored?.value;
    if (record?.step.at !== "choosing" || record.histories.length === 0) return false;
    const mayBeChosen = ({ name }: SimService): boolean => (this.spec.plan.servers[name] ?? 0) > 0;
    return !this.services.some(
      (service) => service.isAlive && mayBeChosen(service) && record.histories.includes(service.history),
    );
  }
}
