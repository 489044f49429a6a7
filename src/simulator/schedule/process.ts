// One process of a world of schedules: hosts the real machine (src/schedule/machine.ts) as src/schedule/attendant.ts does, with simulated time, requests and works. A process that is paused hears
// nothing until it goes on, and then everything at once, in any order; one that was killed begins with nothing.
import { InputQueue } from "../../base/input-queue.ts";
import { nextBetween, nextChance } from "../../base/rng.ts";
import { Process } from "../kernel/process.ts";
import { journeyOver, send } from "../kernel/request.ts";
import {
  AWAY,
  type SlotNews,
  type ScheduleEffect,
  type ScheduleInput,
  type ScheduleState,
  stepSchedule,
  wakeAtMs,
} from "../../schedule/machine.ts";
import type { Mark } from "../../schedule/mark.ts";
import type { SlotAttempt } from "./judge.ts";
import type { ScheduleWorld } from "./world.ts";

/** A term as its holder sees it. */
export interface SimTerm {
  readonly token: number;
  readonly markAtGrant: Mark | undefined;
  /** In true time. This world does not test the holder's own clock. */
  deadlineMs: number;
  isResigned: boolean;
  /** The machine has been told that it is over. */
  hasLeft: boolean;
  n: number;
  lastSent: Mark | undefined;
  over: number | undefined;
  /** The latest time of day that was read in this term: a clock may be set back after a slot was chosen. */
  latestWallMs: number;
}

const TIMEOUT_MS = 300;
/** Like the real host, the process reads the wall clock again after a while, because it may have been set. */
const LONGEST_WAIT_MS = 1500;

export class ScheduleProcess extends Process {
  readonly who: number;
  readonly #world: ScheduleWorld;
  wallOffsetMs: number;
  term: SimTerm | undefined;
  state: ScheduleState = AWAY;
  #run: SlotAttempt | undefined;
  #isDeaf = false;
  #pending = 0;
  #wakes = 0;
  readonly #inputs = new InputQueue<ScheduleInput>(
    (input) => this.#step(input),
    () => this.#arrange(),
  );

  constructor(world: ScheduleWorld, who: number, wallOffsetMs: number) {
    super(who);
    this.#world = world;
    this.who = who;
    this.wallOffsetMs = wallOffsetMs;
  }

  get isEligible(): boolean {
    return this.isAlive && this.pauses === 0 && this.cuts === 0 && this.term === undefined && this.#run === undefined;
  }

  wallMs(): number {
    return Math.floor(this.#world.rightWallMs() + this.wallOffsetMs);
  }

  isHeld(): boolean {
    return this.term !== undefined && this.#world.nowMs < this.term.deadlineMs;
  }

  isLeading(): boolean {
    const { term } = this;
    return term !== undefined && !term.isResigned && this.#world.nowMs < term.deadlineMs - this.#world.spec.drainMs;
  }

  lead(token: number, markAtGrant: Mark | undefined, deadlineMs: number): void {
    this.term = {
      token,
      markAtGrant,
      deadlineMs,
      isResigned: false,
      hasLeft: false,
      n: 0,
      lastSent: undefined,
      over: undefined,
      latestWallMs: -Infinity,
    };
    this.input({ type: "lead" });
  }

  /** The signal aborts, by a timer, a resignation or the next look at the clock. */
  leave(): void {
    if (this.term !== undefined && !this.term.hasLeft) this.input({ type: "leave" });
  }

  override kill(): void {
    super.kill();
    if (this.#run !== undefined) this.#run.outcome = "died";
    this.#run = undefined;
    this.state = AWAY;
    this.term = undefined;
    this.#pending = 0;
  }

  input(input: ScheduleInput): void {
    this.#inputs.put(input);
  }

  #step(input: ScheduleInput): void {
    const { term } = this;
    const isLeading = this.isLeading();
    if (input.type === "leave" && term !== undefined) term.hasLeft = true;
    else if (!isLeading && term?.hasLeft === false) this.#inputs.put({ type: "leave" });
    const now = { wallMs: this.wallMs(), isLeading, isHeld: this.isHeld() };
    if (term !== undefined) term.latestWallMs = Math.max(term.latestWallMs, now.wallMs);
    const before = this.state;
    const { state, effects } = stepSchedule(this.#world.spec.plan, before, input, now);
    this.state = state;
    if (input.type === "written" && before.at === "writing" && before.begins !== undefined && !isLeading)
      this.#world.count("not begun after the mark");
    for (const effect of effects) this.#carryOut(effect, term);
    if (input.type === "leave" && this.#run !== undefined && !this.#isDeaf) this.#stopSoon(this.#run);
  }

  #carryOut(effect: ScheduleEffect, term: SimTerm | undefined): void {
    if (effect.type === "tell") return this.#hear(effect.news);
    if (term === undefined) return;
    switch (effect.type) {
      case "read":
        return this.#ask(
          () => this.#world.seat.memo,
          (memo) => {
            term.over = memo?.version;
            this.input({ type: "read", mark: memo?.value });
          },
        );
      case "write":
        return this.#write(term, effect.mark);
      case "begin":
        return this.#begin(term, effect.slot.slotMs);
    }
  }

  #hear(news: SlotNews): void {
    this.#world.note({ is: "news", who: this.who, news, token: this.term?.token });
    if (news.is === "begun" && news.isCatchUp) this.#world.count("catch-ups");
    if (news.is === "missed") this.#world.count("left out", news.count);
    if (news.is === "unfinished") this.#world.count("unfinished found");
    if (news.is === "ahead") this.#world.count("marks ahead of the clock");
  }

  // ---- requests

  /** A mark that is sent again keeps its number: the store takes the second write for the first. */
  #write(term: SimTerm, mark: Mark): void {
    const isAgain = term.lastSent === mark;
    if (!isAgain) term.n++;
    term.lastSent = mark;
    const { token, n, over } = term;
    this.#ask(
      () => this.#world.write({ token, n, over, value: mark }),
      (answer) => {
        if (answer.is !== "written") return this.leave();
        if (!answer.isApplied) this.#world.count("marks sent again and found written");
        term.over = answer.version;
        this.input({ type: "written" });
      },
    );
  }

  #ask<A>(atStore: () => A, onAnswer: (answer: A) => void): void {
    const { rng, links, spec } = this.#world;
    this.#pending++;
    const close = (then: () => void): void => {
      this.#pending--;
      then();
      this.conclude();
    };
    send(this.#world, this, journeyOver(links, this.cuts > 0, 2 * spec.ttlMs, TIMEOUT_MS, rng), {
      atStore,
      onAnswer: (answer) => close(() => onAnswer(answer)),
      onTimeout: () =>
        close(() => {
          this.#world.count("marks unanswered");
          if (this.term?.hasLeft === false) this.input({ type: "unanswered" });
        }),
    });
  }

  // ---- works

  #begin({ token, markAtGrant, latestWallMs }: SimTerm, slotMs: number): void {
    const { rng, spec, judge } = this.#world;
    const begun = {
      who: this.who,
      token,
      slotMs,
      wallMs: latestWallMs,
      isLeading: this.isLeading(),
      markAtGrant,
      isAlone: this.#run === undefined,
    };
    const run = judge.begun(begun, this.#world.nowMs);
    this.#world.count("begun");
    this.#run = run;
    this.#isDeaf = nextChance(rng, spec.deafChance);
    const outcome = nextChance(rng, spec.failChance) ? "failed" : "done";
    this.#world.later(nextBetween(rng, 0, this.#world.workMaxMs), this, () => this.#settle(run, outcome));
  }

  #stopSoon(run: SlotAttempt): void {
    const { rng, spec } = this.#world;
    const outcome = nextChance(rng, 0.3) ? "done" : "stopped";
    this.#world.later(nextBetween(rng, 0, spec.drainMs), this, () => this.#settle(run, outcome));
  }

  #settle(run: SlotAttempt, outcome: "done" | "failed" | "stopped"): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    // As in the real host, work that rejects after its signal aborted was stopped.
    const settled = outcome === "failed" && this.term?.hasLeft !== false ? "stopped" : outcome;
    run.outcome = settled;
    if (settled === "done" && this.term?.hasLeft === true && this.isHeld()) this.#world.count("done in the drain");
    this.input({ type: "settled", outcome: settled });
    this.conclude();
  }

  /** The term is given back when nothing of it is under way. */
  conclude(): void {
    const { term } = this;
    if (term?.hasLeft !== true || this.#run !== undefined || this.#pending > 0 || this.#inputs.isStepping) return;
    this.term = undefined;
    this.#world.release(term.token);
  }

  #arrange(): void {
    this.conclude();
    const wake = ++this.#wakes;
    const atMs = wakeAtMs(this.state);
    if (atMs === Infinity) return;
    const afterMs = Math.min(LONGEST_WAIT_MS, Math.max(0, atMs - this.wallMs()));
    this.#world.later(afterMs, this, () => {
      if (wake === this.#wakes) this.input({ type: "tick" });
    });
  }
}
