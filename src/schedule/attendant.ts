// One schedule in one term: carries out what the machine asks for, and tells it the results. It decides only how long to pause after a store that did not answer.
//
// It lives inside the term (`election.ifLeading`), so that the term is not given back before the work of a slot has settled (law 8), and no other term of this process begins before that.
import type { Clock, Timer } from "../base/clock.ts";
import { isConclaveError } from "../base/errors.ts";
import { InputQueue } from "../base/input-queue.ts";
import type { UnfencedTerm } from "../election/term.ts";
import {
  AWAY,
  type ScheduleMoment,
  type SlotNews,
  type Plan,
  type ScheduleEffect,
  type ScheduleInput,
  type ScheduleState,
  type Slot,
  stepSchedule,
  wakeAtMs,
} from "./machine.ts";
import type { Mark } from "./mark.ts";

/** Where marks are kept. A call has three outcomes: it resolves, it rejects with `TERM_LOST`, or it rejects with another error, and then nobody knows whether the mark was written. */
export interface MarkPort {
  read(): Promise<Mark | undefined>;
  write(mark: Mark): Promise<void>;
}

export interface AttendantOptions<T extends UnfencedTerm> {
  readonly plan: Plan;
  readonly clock: Clock;
  readonly term: T;
  readonly marks: MarkPort;
  /** Aborts when the schedule is closed: nothing is begun any more, and the signal of running work aborts. */
  readonly closing: AbortSignal;
  readonly work: (slot: Slot, signal: AbortSignal) => Promise<unknown>;
  readonly tell: (news: SlotNews) => void;
  /** Is told when the store did not answer, or a work rejected. */
  readonly report: (what: "mark" | "work", error: unknown, slot?: Slot) => void;
}

/** The wall clock may be set while a timer runs, so it is read again after so long. */
const LONGEST_WAIT_MS = 15_000;
const PAUSE_FIRST_MS = 50;
const PAUSE_LAST_MS = 5000;

export class Attendant<T extends UnfencedTerm> {
  readonly #options: AttendantOptions<T>;
  readonly #stop: AbortSignal;
  /** Asking the term for the moment may abort its signal, which is an input too; so inputs are queued. */
  readonly #inputs = new InputQueue<ScheduleInput>(
    (input) => this.#step(input),
    () => this.#arrange(),
  );
  #state: ScheduleState = AWAY;
  #timer: Timer | undefined;
  /** Reads, writes and works under way. */
  #pending = 0;
  #pauseMs = PAUSE_FIRST_MS;
  #failure: { readonly error: Error } | undefined;
  #done: () => void = () => {};

  constructor(options: AttendantOptions<T>) {
    this.#options = options;
    this.#stop = AbortSignal.any([options.term.signal, options.closing]);
  }

  /** Resolves when the term has ended, or the schedule was closed, and nothing of it is under way. Rejects with what the user's timetable throws. */
  attend(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = () => (this.#failure === undefined ? resolve() : reject(this.#failure.error));
      const leave = (): void => this.#inputs.put({ type: "leave" });
      this.#inputs.put({ type: "lead" });
      this.#stop.addEventListener("abort", leave, { once: true });
      if (this.#stop.aborted) leave();
    });
  }

  #step(input: ScheduleInput): void {
    if (this.#failure !== undefined) return;
    try {
      const { state, effects } = stepSchedule(this.#options.plan, this.#state, input, this.#moment());
      this.#state = state;
      for (const effect of effects) this.#carryOut(effect);
    } catch (error) {
      // Nothing more is begun. Running work is waited for.
      this.#failure = { error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  #moment(): ScheduleMoment {
    const { term, clock, closing } = this.#options;
    const isLeading = !closing.aborted && term.isLeading();
    return { wallMs: wallOf(clock), isLeading, isHeld: term.isHeld() };
  }

  #carryOut(effect: ScheduleEffect): void {
    switch (effect.type) {
      case "read":
        return this.#await(async () => ({ type: "read", mark: await this.#options.marks.read() }));
      case "write":
        return this.#await(async () => {
          await this.#options.marks.write(effect.mark);
          return { type: "written" };
        });
      case "begin":
        return this.#begin(effect.slot);
      case "tell":
        return this.#options.tell(effect.news);
    }
  }

  /** Hands the answer to the machine, or `unanswered` after a pause that grows. Once the term has ended, nothing more is asked. */
  #await(ask: () => Promise<ScheduleInput>): void {
    this.#pending++;
    const over = (input: ScheduleInput): void => {
      this.#pending--;
      this.#inputs.put(input);
    };
    const answered = (input: ScheduleInput): void => {
      this.#pauseMs = PAUSE_FIRST_MS;
      over(input);
    };
    ask().then(answered, (error: unknown) => {
      if (this.#stop.aborted || isLost(error)) return over({ type: "leave" });
      this.#options.report("mark", error);
      const wait = this.#options.clock.timer(this.#pauseMs, () => {
        this.#stop.removeEventListener("abort", atOnce);
        over({ type: "unanswered" });
      });
      const atOnce = (): void => {
        wait.cancel();
        over({ type: "leave" });
      };
      this.#stop.addEventListener("abort", atOnce, { once: true });
      this.#pauseMs = Math.min(PAUSE_LAST_MS, 2 * this.#pauseMs);
    });
  }

  #begin(slot: Slot): void {
    this.#pending++;
    const settled = (outcome: "done" | "failed" | "stopped"): void => {
      this.#pending--;
      this.#inputs.put({ type: "settled", outcome });
    };
    void this.#work(slot).then(settled);
  }

  /** Never rejects. Called in the same turn as the last look at the clock; an async function runs at once until it first awaits. */
  async #work(slot: Slot): Promise<"done" | "failed" | "stopped"> {
    try {
      await this.#options.work(slot, this.#stop);
      return "done";
    } catch (error) {
      if (this.#stop.aborted) return "stopped";
      this.#options.report("work", error, slot);
      return "failed";
    }
  }

  #arrange(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#stop.aborted || this.#failure !== undefined) {
      if (this.#pending === 0) this.#done();
      return;
    }
    const wakeMs = wakeAtMs(this.#state);
    if (wakeMs === Infinity) return;
    const { clock } = this.#options;
    const leftMs = Math.min(LONGEST_WAIT_MS, Math.max(0, wakeMs - wallOf(clock)));
    this.#timer = clock.timer(leftMs, () => {
      if (wallOf(clock) >= wakeMs || this.#stop.aborted) return this.#inputs.put({ type: "tick" });
      this.#arrange();
    });
  }
}

function isLost(error: unknown): boolean {
  return isConclaveError(error) && error.code === "TERM_LOST";
}

/** The clock of a test may have no time of day: then its monotonic time stands for one. */
export function wallOf(clock: Clock): number {
  return Math.floor(clock.wall?.() ?? clock.now().boot);
}
