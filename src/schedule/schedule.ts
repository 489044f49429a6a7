// `schedule(election, when, work)`: each slot is begun by the one process of a fleet that leads. A mark that only the leader can write remembers which slots were begun. The promises
// stand at the head of machine.ts, and in docs/ONCE-PER-FLEET.md.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, invalidConfig, isConclaveError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { nodeClock } from "../election/clock.ts";
import type { Election } from "../election/face.ts";
import { type Inside, insideOf } from "../election/inside.ts";
import type { Term, UnfencedTerm } from "../election/term.ts";
import { countingOnly } from "../election/voice.ts";
import type { ScheduleNews } from "../lease/events.ts";
import { cannotKeepMemos, keepsMemos } from "../stores/contract.ts";
import { Attendant, type MarkPort, wallOf } from "./attendant.ts";
import type { SlotNews, Plan, Slot } from "./machine.ts";
import { isoOf } from "./mark-text.ts";
import { marksOf } from "./marks.ts";
import { slotsOf, type When } from "./when.ts";

/** Options of `schedule`. */
export interface ScheduleOptions {
  /** Tells the schedules of one election apart. It must stay the same from version to version, because the fleet remembers its slots under it. @default "default" */
  readonly key?: string | undefined;
  /**
   * Slots that nobody could begin in time, because nobody led or the slot before took too long:
   * - "last": only the newest of them is begun, late
   * - "all": each of them, the oldest first, up to `missedMax`
   * - "none": they are left out
   *
   * An event tells of each slot that is left out. @default "last"
   */
  readonly missed?: "all" | "last" | "none" | undefined;
  /** With `missed: "all"`: how many are made up for at most. @default 1000 */
  readonly missedMax?: number | undefined;
  /**
   * When a slot is marked as done:
   * - "before" its work begins: no slot begins twice; a slot is lost only if its runner died between mark and end
   * - "after" it has settled: with `missed: "all"` none is missing; a slot is repeated only if its runner died, or lost its term, before the mark; repeats may overlap
   *
   * @default "before"
   */
  readonly mark?: "before" | "after" | undefined;
}

/** What the work of a slot is given. */
export interface SlotRun<T extends UnfencedTerm = Term> {
  /** The instant that this run stands for. Its ISO text is a good idempotency key. */
  readonly slot: Date;
  /** It begins late: a later slot is due already, or it was due before this term began. */
  readonly isCatchUp: boolean;
  /** Aborts when the term ends, or the schedule is closed. Pass it to everything that the work awaits. */
  readonly signal: AbortSignal;
  /** The term in which it runs: with its token, for guards. */
  readonly term: T;
}

/** A schedule of this process, as of now. */
export interface ScheduleStatus {
  /** The last slot that was begun here. */
  readonly lastSlot: Date | undefined;
  /** Known while this process leads. */
  readonly nextSlot: Date | undefined;
  /** Slots that were left out here. */
  readonly missed: number;
  /** When the work that runs here was begun. */
  readonly runningSince: Date | undefined;
}

/** A schedule: it goes on until it, or its election, is closed. */
export interface Schedule extends AsyncDisposable {
  readonly key: string;
  status(): ScheduleStatus;
  /** Begins nothing more, aborts the signal of what runs, and resolves when that has settled. The election goes on. */
  close(): Promise<void>;
}

/** The work of a slot. */
export type SlotWork<T extends UnfencedTerm> = (run: SlotRun<T>) => Promise<unknown>;

/**
 * Runs `work` once for each slot, on the one process of the fleet that leads `election`, and stands for it (`election.start()`). The store must keep memos.
 * Throws CONFIG_INVALID, and STORE_UNSUPPORTED if the store keeps none.
 */
export function schedule<T extends UnfencedTerm>(
  election: Election<T>,
  when: When,
  work: SlotWork<T>,
  options: ScheduleOptions = {},
): Schedule {
  if (typeof (Object(election) as Partial<Election<T>>).start !== "function")
    throw invalidConfig("schedule", [
      `${show(election)} is not an election: pass elect(name, …) or candidate.election(name)`,
    ]);
  const made = new ElectionSchedule(election, when, work, options);
  election.start();
  made.begin();
  return made;
}

/** Keys in use in this process, for each election. */
const inUse = new WeakMap<object, Set<string>>();
const MISSED_MAX = 1000;
const KEY_MAX = 100;

/** A schedule that does not call `election.start()`: for parts that lead the election themselves. */
export class ElectionSchedule<T extends UnfencedTerm> implements Schedule {
  readonly key: string;
  readonly #election: Election<T>;
  readonly #work: SlotWork<T>;
  readonly #plan: Plan;
  readonly #clock: Clock;
  readonly #tell: Inside["tell"];
  readonly #closing = new AbortController();
  #unsubscribe: () => void = () => {};
  #attending: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  #reported: string | undefined;
  #isBroken = false;
  #status: ScheduleStatus = { lastSlot: undefined, nextSlot: undefined, missed: 0, runningSince: undefined };

  constructor(election: Election<T>, when: When, work: SlotWork<T>, options: ScheduleOptions) {
    const call = `schedule(${show(election?.name)})`;
    this.#plan = planOf(when, options, call);
    if (typeof work !== "function")
      throw invalidConfig(call, [`the work ${show(work)} is not a function. Pass async ({ slot, signal }) => { … }`]);
    this.key = options?.key ?? "default";
    this.#election = election;
    this.#work = work;
    const parts = insideOf(election);
    if (parts !== undefined && !keepsMemos(parts.store)) throw cannotKeepMemos(parts.store);
    this.#clock = parts?.clock ?? nodeClock();
    this.#tell = parts?.tell ?? (() => {});
    this.#plan.next(wallOf(this.#clock)); // a timetable that cannot work throws here
    take(election, this.key, call);
  }

  begin(): void {
    // An event is told in the middle of the election's own steps, so this waits for a microtask of its own.
    const look = countingOnly(() => queueMicrotask(() => this.#attend()));
    this.#unsubscribe = this.#election.subscribe(look);
    this.#attend();
  }

  status(): ScheduleStatus {
    return this.#status;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#unsubscribe();
    this.#closing.abort(new ConclaveError("CLOSED", `the schedule ${show(this.key)} was closed`));
    await this.#attending;
    inUse.get(this.#election)?.delete(this.key);
  }

  #attend(): void {
    if (this.#attending !== undefined || this.#closing.signal.aborted || !this.#election.isLeading()) return;
    const over = (): void => {
      this.#attending = undefined;
      this.#status = { ...this.#status, nextSlot: undefined };
    };
    this.#attending = this.#election
      .ifLeading((term) => this.serve(term))
      .catch((error: unknown) => this.#reportTimetable(error))
      .then(over);
  }

  /** Resolves when the term ends, or this schedule is closed. Rejects with what the timetable throws. */
  serve(term: T): Promise<void> {
    return new Attendant({
      plan: this.#plan,
      clock: this.#clock,
      term,
      marks: this.#marks(term),
      closing: this.#closing.signal,
      work: (slot, signal) => this.#work(runOf(slot, signal, term)),
      tell: (news) => this.#hear(news),
      report: (what, error, slot) => this.#report(what, error, slot),
    }).attend();
  }

  /** Once the store answers again, an outage that was reported before is over. */
  #marks(term: T): MarkPort {
    const marks = marksOf(this.#election, term, this.key);
    const answered = <R>(value: R): R => {
      this.#reported = undefined;
      return value;
    };
    return {
      read: () => marks.read().then(answered),
      write: (mark) => marks.write(mark).then(answered),
    };
  }

  #hear(news: SlotNews): void {
    const wallMs = wallOf(this.#clock);
    this.#status = after(this.#status, news, wallMs);
    if (news.is === "ahead") return this.#reportAhead(news);
    this.#tell({ type: "schedule", election: this.#election.name, key: this.key, ...asEvent(news, wallMs) });
  }

  #reportAhead({ slotMs, nextMs }: Extract<SlotNews, { is: "ahead" }>): void {
    const { name } = this.#election;
    const message = `"${name}": the schedule ${show(this.key)} was marked up to ${isoOf(slotMs)}, which is later than the next slot of this clock, ${isoOf(nextMs)}: a clock of the fleet is wrong by more than a period. Nothing is begun until then. Set the clocks; if the mark is wrong: npx conclave schedule reset ${name} ${this.key}`;
    this.#tell({ type: "error", error: new ConclaveError("SCHEDULE_AHEAD", message), election: name });
  }

  /** Reports it once, although the timetable is asked again whenever the election emits an event. */
  #reportTimetable(error: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    const { name } = this.#election;
    const message = `"${name}": the timetable of the schedule ${show(this.key)} failed: ${textOfError(error)}. Nothing is begun while it does.`;
    this.#tell({
      type: "error",
      error: new ConclaveError("CONFIG_INVALID", message, { cause: error }),
      election: name,
    });
  }

  /** Reports an outage once. */
  #report(what: "mark" | "work", error: unknown, slot: Slot | undefined): void {
    const { name } = this.#election;
    if (what === "work") {
      const message = `"${name}": the work of the schedule ${show(this.key)} for ${isoOf(slot?.slotMs ?? 0)} rejected: ${textOfError(error)}. The slot counts as run. Its error is the cause of this one.`;
      return this.#tell({
        type: "error",
        error: new ConclaveError("SCHEDULE_FAILED", message, { cause: error }),
        election: name,
      });
    }
    const code = isConclaveError(error) ? error.code : "STORE_UNREACHABLE";
    if (this.#reported === code) return;
    this.#reported = code;
    const message = `the mark of the schedule ${show(this.key)} could not be read, understood or written: ${textOfError(error)}. Nothing is begun without it; it is tried again.`;
    const retryable = isConclaveError(error) ? error.retryable : true;
    this.#tell({ type: "error", error: new ConclaveError(code, message, { retryable, cause: error }), election: name });
  }
}

function planOf(when: When, options: ScheduleOptions, call: string): Plan {
  const { key = "default", missed = "last", missedMax = MISSED_MAX, mark = "before" } = options ?? {};
  const problems: string[] = [];
  const known = ["key", "missed", "missedMax", "mark"];
  problems.push(
    ...Object.keys(options ?? {})
      .filter((name) => !known.includes(name))
      .map((name) => `${name} is not an option; there are ${known.join(", ")}`),
  );
  const isKey = typeof key === "string" && key.length > 0 && key.length <= KEY_MAX;
  const flaw = isKey ? flawOf(key) : `it is not a text of 1 to ${KEY_MAX} characters`;
  if (flaw !== undefined) problems.push(`key ${show(key)}: ${flaw}`);
  if (!["all", "last", "none"].includes(missed)) problems.push(`missed ${show(missed)} is not "all", "last" or "none"`);
  if (!Number.isSafeInteger(missedMax) || missedMax < 1)
    problems.push(`missedMax ${show(missedMax)} is not a whole number of at least 1`);
  if (!["before", "after"].includes(mark)) problems.push(`mark ${show(mark)} is not "before" or "after"`);
  if (problems.length > 0) throw invalidConfig(call, problems);
  return { next: slotsOf(when, call), missed, missedMax, mark };
}

function take(election: object, key: string, call: string): void {
  const keys = inUse.get(election) ?? new Set();
  inUse.set(election, keys);
  if (keys.has(key))
    throw invalidConfig(call, [
      `a schedule with the key ${show(key)} runs already; give each schedule of an election a key of its own`,
    ]);
  keys.add(key);
}

function runOf<T extends UnfencedTerm>({ slotMs, isCatchUp }: Slot, signal: AbortSignal, term: T): SlotRun<T> {
  return { slot: new Date(slotMs), isCatchUp, signal, term };
}

function after(status: ScheduleStatus, news: SlotNews, wallMs: number): ScheduleStatus {
  switch (news.is) {
    case "waiting":
      return { ...status, nextSlot: news.nextMs === undefined ? undefined : new Date(news.nextMs) };
    case "begun":
      return { ...status, lastSlot: new Date(news.slotMs), runningSince: new Date(wallMs) };
    case "ended":
      return { ...status, runningSince: undefined };
    case "missed":
      return { ...status, missed: status.missed + news.count };
    case "unfinished":
    case "ahead":
      return status;
  }
}

function asEvent(news: Exclude<SlotNews, { is: "ahead" }>, wallMs: number): ScheduleNews {
  switch (news.is) {
    case "waiting":
      return { state: "waiting", next: news.nextMs === undefined ? undefined : isoOf(news.nextMs) };
    case "begun":
      return { state: "begun", slot: isoOf(news.slotMs), at: isoOf(wallMs), isCatchUp: news.isCatchUp };
    case "ended":
      return { state: "ended", slot: isoOf(news.slotMs), outcome: news.outcome };
    case "missed":
      return { state: "missed", slot: isoOf(news.slotMs), count: news.count };
    case "unfinished":
      return { state: "unfinished", slot: isoOf(news.slotMs) };
  }
}
