// The world of schedules: processes that run the real machine, one seat with its memo, faults, and a calm at the end in which what was left undone must be made up for.
import { nextBetween, nextOf } from "../../base/rng.ts";
import type { Mark } from "../../schedule/mark.ts";
import type { MemoAnswer, ModelMemoWrite } from "../kernel/memo.ts";
import { CALM_LINKS, type RequestLinks } from "../kernel/request.ts";
import { TaskWorld, type TaskWorldOptions } from "../kernel/task-world.ts";
import { ScheduleJudge } from "./judge.ts";
import { ScheduleProcess } from "./process.ts";
import { ScheduleSeat } from "./seat.ts";
import { EVERY_MS, type ScheduleFault, type ScheduleWorldSpec, START_WALL_MS } from "./spec.ts";
import { SCHEDULE_MINIMA, type ScheduleTally } from "./tallies.ts";
import type { ScheduleEvent, ScheduleHappening } from "./trace.ts";

const CALM_WORK_MS = 5;

export class ScheduleWorld extends TaskWorld<ScheduleWorldSpec, ScheduleEvent, ScheduleTally> {
  readonly seat: ScheduleSeat = new ScheduleSeat();
  readonly judge: ScheduleJudge;
  readonly #processes: readonly ScheduleProcess[];
  links: RequestLinks;
  workMaxMs: number;

  constructor(spec: ScheduleWorldSpec, options: TaskWorldOptions) {
    super(spec, options, { stream: 84, minima: SCHEDULE_MINIMA });
    this.judge = new ScheduleJudge(spec.plan, options.judgedBy);
    this.links = spec;
    this.workMaxMs = spec.workMaxMs;
    this.#processes = spec.wallOffsetsMs.map((offsetMs, who) => new ScheduleProcess(this, who, offsetMs));
    this.arrangeFaults();
    this.#grantSoon();
  }

  rightWallMs(): number {
    return START_WALL_MS + this.nowMs;
  }

  override run(): void {
    super.run();
    const { ran, lost, repeated } = this.judge.lists();
    this.count("ran", ran.length);
    this.count("lost", lost.length);
    this.count("repeated", repeated.length);
    this.note({ is: "slots", ran: ran.length, lost, repeated });
  }

  note(happening: ScheduleHappening): void {
    if (this.trace.isRecorded) this.trace.record(this.nowMs, { type: "schedule", ...happening });
  }

  // ---- the seat

  write(write: ModelMemoWrite<Mark>): MemoAnswer {
    const old = this.seat.memo?.value;
    const answer = this.seat.write(write);
    this.note({ is: "mark", mark: write.value, token: write.token, n: write.n, answer: answer.is });
    if (answer.is === "seat-lost") this.count("marks refused to a replaced term");
    if (answer.is === "written" && answer.isApplied) this.judge.applied(old, write.value, write.token, this.nowMs);
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
    this.note({ is: "granted", who: process.who, token });
    this.later(this.spec.ttlMs / 6, undefined, () => this.#keep(process, token));
    process.lead(token, this.seat.memo?.value, this.nowMs + this.spec.ttlMs);
  }

  /** Renews, unless the holder cannot; and frees the seat when its time is over. */
  #keep(process: ScheduleProcess, token: number): void {
    if (!this.seat.isHeld || this.seat.token !== token) return;
    const term = process.term?.token === token ? process.term : undefined;
    const isAble = process.isAlive && process.pauses === 0 && process.cuts === 0;
    if (term !== undefined && isAble && this.nowMs < term.deadlineMs) term.deadlineMs = this.nowMs + this.spec.ttlMs;
    if (term !== undefined && process.pauses === 0 && !process.isLeading()) process.leave();
    const deadlineMs = term?.deadlineMs ?? this.#orphanedAt.get(token) ?? this.nowMs;
    if (this.nowMs >= deadlineMs) return this.release(token);
    this.later(this.spec.ttlMs / 6, undefined, () => this.#keep(process, token));
  }

  /** For terms whose holder was killed: until when the seat is kept. */
  readonly #orphanedAt = new Map<number, number>();

  // ---- faults

  protected override inflict({ kind, who, lastsMs, byMs, index }: ScheduleFault): void {
    const leading = this.#processes.find(({ term }) => term !== undefined && term.token === this.seat.token);
    const process = who === undefined ? leading : this.#processes[who];
    if (process === undefined) return;
    this.note({ is: "fault", who: process.who, index, kind });
    switch (kind) {
      case "kill":
        return this.kill(process, lastsMs);
      case "pause":
        return this.pause(process, lastsMs);
      case "cut":
        return this.cut(process, lastsMs);
      case "resign":
        if (process.term === undefined || process.pauses > 0) return;
        process.term.isResigned = true;
        return process.leave();
      case "set-clock":
        process.wallOffsetMs += byMs;
        return;
    }
  }

  protected override dying({ term }: ScheduleProcess): void {
    this.count("deaths");
    if (term !== undefined) this.#orphanedAt.set(term.token, term.deadlineMs);
  }

  protected override calm(): void {
    this.links = CALM_LINKS;
    this.workMaxMs = CALM_WORK_MS;
    for (const process of this.#processes) process.wallOffsetMs = 0;
    this.note({ is: "calm" });
  }

  /** Clocks are right, works are short, nothing has failed for long. So the mark is at the last slot, unless a clock that was wrong has moved it into the future. */
  protected override judgeAtRest(): void {
    const mark = this.seat.memo?.value;
    const nowMs = this.rightWallMs();
    if (mark === undefined || (this.spec.plan.missed !== "none" && mark.slotMs < nowMs - 3 * EVERY_MS))
      this.judge.find("progress", `it is ${nowMs}, and the mark is ${mark?.slotMs ?? "missing"}`, this.nowMs);
  }
}
