// The world of schedules: processes that run the real machine, one seat with its memo, faults, and a calm at the end in which what was left undone must be made up for.
import { createRng, nextBetween, nextOf, type Rng } from "../../base/rng.ts";
import { type Actor, Kernel, type KernelEvent } from "../kernel/kernel.ts";
import { Trace } from "../kernel/trace.ts";
import { Judge } from "./judge.ts";
import { SimProcess } from "./process.ts";
import { type MarkAnswer, type MarkWrite, Seat } from "./seat.ts";
import { EVERY_MS, type ScheduleFault, type ScheduleWorldSpec, START_WALL_MS } from "./spec.ts";
import { emptyScheduleTallies, type ScheduleTallies, type ScheduleTally } from "./tallies.ts";
import type { ScheduleEvent } from "./trace.ts";

interface Task {
  readonly process: SimProcess | undefined;
  readonly incarnation: number;
  readonly run: () => void;
}

interface Links {
  readonly latencyMaxMs: number;
  readonly lossChance: number;
  readonly lateChance: number;
}

export interface ScheduleWorldOptions {
  readonly isRecorded: boolean;
  readonly judgedBy: readonly string[] | undefined;
}

const CALM: Links = { latencyMaxMs: 2, lossChance: 0, lateChance: 0 };
const CALM_WORK_MS = 5;

export class ScheduleWorld implements Actor {
  readonly spec: ScheduleWorldSpec;
  readonly rng: Rng;
  readonly kernel: Kernel;
  readonly seat: Seat = new Seat();
  readonly judge: Judge;
  readonly trace: Trace<ScheduleEvent>;
  readonly tallies: ScheduleTallies = emptyScheduleTallies();
  readonly #processes: readonly SimProcess[];
  links: Links;
  workMaxMs: number;
  #isCalm = false;

  constructor(spec: ScheduleWorldSpec, { isRecorded, judgedBy }: ScheduleWorldOptions) {
    this.spec = spec;
    this.rng = createRng(spec.seed, 84);
    this.kernel = new Kernel(createRng(spec.seed, 85));
    this.judge = new Judge(spec.plan, judgedBy);
    this.trace = new Trace(isRecorded);
    this.links = spec;
    this.workMaxMs = spec.workMaxMs;
    this.#processes = spec.wallOffsetsMs.map((offsetMs, who) => new SimProcess(this, who, offsetMs));
    for (const fault of spec.faults) this.later(fault.atMs, undefined, () => this.#inflict(fault));
    this.later(spec.calmAtMs, undefined, () => this.#calm());
    this.#grantSoon();
  }

  get nowMs(): number {
    return this.kernel.nowMs;
  }

  rightWallMs(): number {
    return START_WALL_MS + this.nowMs;
  }

  /** For a process: not while it is paused, and not after it was killed. */
  later(afterMs: number, process: SimProcess | undefined, run: () => void): void {
    const task: Task = { process, incarnation: process?.incarnation ?? 0, run };
    this.kernel.schedule(this.nowMs + afterMs, this, "task", process?.who ?? -1, task);
  }

  handle({ payload, subject }: KernelEvent): void {
    const { process, incarnation, run } = payload as Task;
    this.trace.hash.mixTime(this.nowMs);
    this.trace.hash.mix(subject);
    if (process === undefined) return run();
    if (process.incarnation !== incarnation) return;
    if (process.pauses > 0) process.deferred.push(run);
    else run();
  }

  run(): void {
    while (this.kernel.nextAtMs <= this.spec.endMs && this.judge.violation === undefined) {
      const event = this.kernel.take();
      event?.actor?.handle(event);
    }
    if (this.judge.violation === undefined) this.#judgeAtRest();
    const { ran, lost, repeated } = this.judge.lists();
    this.count("ran", ran.length);
    this.count("lost", lost.length);
    this.count("repeated", repeated.length);
    this.trace.record(this.nowMs, { type: "slots", ran: ran.length, lost, repeated });
  }

  count(what: ScheduleTally, by = 1): void {
    this.tallies[what] += by;
  }

  note(who: number | undefined, what: string): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "schedule", who, what });
  }

  // ---- the seat

  write(write: MarkWrite): MarkAnswer {
    const old = this.seat.memo?.mark;
    const answer = this.seat.write(write);
    const { slotMs, state } = write.mark;
    this.note(undefined, `mark ${slotMs} ${state} of term ${write.token}, n ${write.n}: ${answer.is}`);
    if (answer.is === "seat-lost") this.count("marks refused to a replaced term");
    if (answer.is === "written" && answer.isApplied) this.judge.applied(old, write.mark, write.token, this.nowMs);
    return answer;
  }

  release(token: number): void {
    if (!this.seat.isHeld || token !== this.seat.token) return;
    this.seat.free(token);
    this.#grantSoon();
  }

  #grantSoon(): void {
    this.later(nextBetween(this.rng, 0, 50), undefined, () => this.#grant());
  }

  #grant(): void {
    if (this.seat.isHeld) return;
    const able = this.#processes.filter(({ isEligible }) => isEligible);
    if (able.length === 0) return this.#grantSoon();
    const process = nextOf(this.rng, able);
    const token = this.seat.grant();
    this.count("terms");
    this.note(process.who, `is granted term ${token}`);
    this.later(this.spec.ttlMs / 6, undefined, () => this.#keep(process, token));
    process.lead(token, this.seat.memo?.mark, this.nowMs + this.spec.ttlMs);
  }

  /** Renews, unless the holder cannot; and frees the seat when its time is over. */
  #keep(process: SimProcess, token: number): void {
    if (!this.seat.isHeld || this.seat.token !== token) return;
    const term = process.term?.token === token ? process.term : undefined;
    const isAble = process.isAlive && process.pauses === 0 && process.cuts === 0;
    if (term !== undefined && isAble && this.nowMs < term.deadlineMs) term.deadlineMs = this.nowMs + this.spec.ttlMs;
    if (term !== undefined && process.pauses === 0 && !process.isLeading()) process.leave();
    const deadlineMs = term?.deadlineMs ?? this.#orphanedAt.get(token) ?? this.nowMs;
    if (this.nowMs >= deadlineMs) return this.release(token);
    this.later(this.spec.ttlMs / 6, undefined, () => this.#keep(process, token));
  }

  /** Of terms whose holder was killed: until when the seat is waited for. */
  readonly #orphanedAt = new Map<number, number>();

  // ---- faults

  #inflict({ kind, who, lastsMs, byMs, index }: ScheduleFault): void {
    if (this.#isCalm) return;
    const leading = this.#processes.find(({ term }) => term !== undefined && term.token === this.seat.token);
    const process = who === undefined ? leading : this.#processes[who];
    if (process === undefined) return;
    this.note(process.who, `fault ${index}: ${kind}`);
    switch (kind) {
      case "kill":
        return this.#kill(process, lastsMs);
      case "pause":
        process.pauses++;
        return this.later(lastsMs, undefined, () => this.#resume(process));
      case "cut":
        process.cuts++;
        return this.later(lastsMs, undefined, () => void process.cuts--);
      case "resign":
        if (process.term === undefined || process.pauses > 0) return;
        process.term.isResigned = true;
        return process.leave();
      case "set-clock":
        process.wallOffsetMs += byMs;
        return;
    }
  }

  #kill(process: SimProcess, lastsMs: number): void {
    if (!process.isAlive) return;
    this.count("deaths");
    const { term } = process;
    if (term !== undefined) this.#orphanedAt.set(term.token, term.deadlineMs);
    process.kill();
    this.later(lastsMs, undefined, () => process.restart());
  }

  #resume(process: SimProcess): void {
    process.pauses--;
    if (process.pauses > 0) return;
    for (const run of process.deferred.splice(0)) this.later(0, process, run);
  }

  #calm(): void {
    this.#isCalm = true;
    this.links = CALM;
    this.workMaxMs = CALM_WORK_MS;
    for (const process of this.#processes) process.wallOffsetMs = 0;
    this.note(undefined, "from now on nothing fails, and all clocks are right");
  }

  /** Clocks are right, works are short, nothing has failed for long: the mark is at the last slot, unless a clock that was wrong has moved it into the future. */
  #judgeAtRest(): void {
    const mark = this.seat.memo?.mark;
    const nowMs = this.rightWallMs();
    if (mark === undefined || (this.spec.plan.missed !== "none" && mark.slotMs < nowMs - 3 * EVERY_MS))
      this.judge.find("progress", `it is ${nowMs}, and the mark is ${mark?.slotMs ?? "missing"}`, this.nowMs);
  }
}
