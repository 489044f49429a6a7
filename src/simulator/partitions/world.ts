// The world of partitions: processes that run the real machines, seats with their memos, faults, and a calm at the end in which everything must be led, and be led again after one more death.
import { nextBetween, nextOf } from "../../base/rng.ts";
import type { Chunk } from "../../partitions/chunk.ts";
import { NO_WISHES, type SeatedMember, type OperatorWishes } from "../../partitions/controller.ts";
import type { Ack } from "../../partitions/member.ts";
import type { MemoAnswer, ModelMemoWrite } from "../kernel/memo.ts";
import { CALM_LINKS, type RequestLinks } from "../kernel/request.ts";
import { TaskWorld, type TaskWorldOptions } from "../kernel/task-world.ts";
import { PartitionJudge } from "./judge.ts";
import { PartitionProcess } from "./process.ts";
import { inflict } from "./inflict.ts";
import { lastDeath } from "./last-death.ts";
import { isAtRest } from "./rest.ts";
import { hasTastes, hasWeights, type PartitionFault, type PartitionWorldSpec } from "./spec.ts";
import { type SimSession, SimStore } from "./store.ts";
import { PARTITION_MINIMA, type PartitionTally } from "./tallies.ts";
import type { PartitionEvent, PartitionHappening } from "./trace.ts";

export class PartitionWorld extends TaskWorld<PartitionWorldSpec, PartitionEvent, PartitionTally> {
  readonly store: SimStore;
  readonly judge: PartitionJudge;
  readonly processes: readonly PartitionProcess[];
  readonly #sessions = new Set<SimSession>();
  wishes: OperatorWishes = NO_WISHES;
  links: RequestLinks;

  constructor(spec: PartitionWorldSpec, options: TaskWorldOptions) {
    super(spec, options, { stream: 92, minima: PARTITION_MINIMA });
    this.store = new SimStore(spec.members);
    this.judge = new PartitionJudge(spec.layout, !hasTastes(spec), options.judgedBy);
    this.links = spec;
    this.processes = Array.from({ length: spec.members }, (_, who) => new PartitionProcess(this, who));
    this.arrangeFaults();
    this.later(spec.killAtMs, undefined, () => lastDeath(this));
    if (hasWeights(spec)) this.count("worlds with weights");
    if (spec.hasZones) this.count("worlds with zones");
    if (spec.preferred !== undefined) this.count("worlds with preferred members");
    for (const process of this.processes)
      this.again(
        undefined,
        () => spec.ttlMs / 6,
        () => this.#beat(process),
      );
    this.again(
      undefined,
      () => nextBetween(this.rng, 5, 30),
      () => this.#turnSeats(),
    );
  }

  protected override inflict(fault: PartitionFault): void {
    inflict(this, fault);
  }

  protected override dying(): void {
    this.count("deaths");
  }

  note(happening: PartitionHappening): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "partitions", ...happening });
  }

  // ---- the store

  assign(index: number, write: ModelMemoWrite<Chunk>): MemoAnswer {
    const seat = this.store.controller;
    const old = seat.memos.get(index)?.value;
    const answer = seat.write(index, write);
    this.note({ is: "chunk", index, token: write.token, n: write.n, answer: answer.is });
    if (answer.is === "seat-lost") this.count("writes refused to a replaced controller");
    if (answer.is !== "written") return answer;
    if (!answer.isApplied) this.count("writes sent again and found written");
    else this.#applied(index, old, write.value);
    return answer;
  }

  #applied(index: number, old: Chunk | undefined, chunk: Chunk): void {
    this.judge.applied(index, old, chunk, this.nowMs);
    for (const [place, entry] of chunk.entries.entries()) {
      const before = old?.entries[place];
      if (entry.revokedAt !== undefined && before?.revokedAt === undefined) this.count("revoked");
      if (before?.owner === undefined || entry.epoch === before.epoch) continue;
      this.count(before.revokedAt === undefined ? "taken from the dead" : "handed over by ack");
    }
    for (const process of this.processes)
      this.later(nextBetween(this.rng, 0, 5), process, () => process.readChunk(index));
  }

  state(who: number, write: ModelMemoWrite<readonly Ack[]>): MemoAnswer {
    const answer = this.store.members[who]?.write(0, write) ?? { is: "seat-lost" };
    if (answer.is === "seat-lost") this.count("acks refused to a replaced session");
    return answer;
  }

  /** What a look shows: those in their seats, with what this very term has said. */
  seen(): readonly SeatedMember[] {
    return this.processes.flatMap((process) => {
      const seat = this.store.members[process.who];
      const memo = seat?.memos.get(0);
      if (seat === undefined || !seat.isHeld || memo?.token !== seat.token) return [];
      return process.standing?.token === seat.token ? (process.asSeen(memo.value) ?? []) : [];
    });
  }

  /** What a look shows of the renewals at the seats of members: each renewal has another deadline. */
  renewals(): ReadonlyMap<number, number> {
    return new Map(
      this.store.members.flatMap(({ holder }, who) =>
        holder === undefined ? [] : [[who, holder.deadlineMs] as const],
      ),
    );
  }

  release(session: SimSession, isTold: boolean): void {
    if (!isTold || this.nowMs >= session.deadlineMs) return;
    session.deadlineMs = this.nowMs;
    session.isReleased = true;
    this.#end(session);
  }

  #end(session: SimSession): void {
    session.isEnded = true;
    this.#sessions.delete(session);
  }

  // ---- time passes at the seats

  #turnSeats(): void {
    for (const session of this.#sessions)
      if (this.nowMs >= session.deadlineMs + nextBetween(this.rng, 0, 20)) {
        this.count("ended by somebody's own deadline");
        this.#end(session);
      }
    for (const process of this.processes) this.#grantMember(process);
    this.#grantController();
    this.judge.restAfter(3 * this.spec.ttlMs + 1000, this.nowMs, () => isAtRest(this));
  }

  #sessionOf(process: PartitionProcess): SimSession {
    if (process.session !== undefined && !process.session.isEnded) return process.session;
    const session: SimSession = {
      who: process.who,
      deadlineMs: this.nowMs + this.spec.ttlMs,
      isEnded: false,
      isReleased: false,
    };
    process.session = session;
    this.#sessions.add(session);
    return session;
  }

  /** Grants the seat to the member itself, or to the controller that stands there for the proof; the controller gives it back at once. */
  #grantMember(process: PartitionProcess): void {
    const seat = this.store.members[process.who];
    if (seat === undefined || seat.isHeld) return;
    const hasRunOut = seat.holder?.isReleased === false;
    const isOpenTo = (controller: PartitionProcess): boolean => !hasRunOut || controller.mayTake(process.who);
    const able = [
      ...(process.isEligible && (process.session === undefined || process.isHeld()) ? [process] : []),
      ...this.processes.filter((each) => each.isAble && each.isHeld() && each.watches(process.who) && isOpenTo(each)),
    ];
    if (able.length === 0) return;
    const taker = nextOf(this.rng, able);
    const token = seat.grant(this.#sessionOf(taker));
    this.note({ is: "granted", who: taker.who, seat: process.who, token });
    if (taker === process) {
      this.count("sessions");
      if (token > 1) this.count("members restarted into their seat");
      this.judge.cause(this.nowMs);
      return taker.join(token);
    }
    seat.free(token);
    this.later(nextBetween(this.rng, 0, this.links.latencyMaxMs), taker, () => taker.hearOver(process.who, token));
  }

  #grantController(): void {
    const seat = this.store.controller;
    if (seat.isHeld) return;
    const able = this.processes.filter(
      (process) => process.isAble && process.isStaying && process.standing !== undefined && process.isLeading(),
    );
    if (able.length === 0) return;
    const process = nextOf(this.rng, able);
    const token = seat.grant(this.#sessionOf(process));
    this.count("controllers");
    this.note({ is: "controller", who: process.who, token });
    process.office = undefined;
    process.rule(token);
  }

  /** Renewals, looks and reads of one process. */
  #beat(process: PartitionProcess): void {
    const { session } = process;
    if (session !== undefined && process.isAble && process.isHeld()) session.deadlineMs = this.nowMs + this.spec.ttlMs;
    if (process.standing !== undefined && process.pauses === 0 && !process.isLeading()) process.leave();
    if (process.pauses === 0 && process.isAlive) {
      process.readChunks();
      process.lookAround();
    }
  }

  // ---- the calm

  protected override calm(): void {
    this.links = CALM_LINKS;
    this.wishes = NO_WISHES;
    this.judge.cause(this.nowMs);
    this.note({ is: "calm" });
  }
}
