// One schedule in one process, as a pure machine: what to do now, given the mark, the clock and the answers. It reads no clock, sets no timer and sends nothing to a store; a host
// (schedule.ts, or a simulated world) carries out its effects and tells it the results.
//
//   away      no term: nothing is known, nothing is begun
//   reading   the mark was asked for; what an earlier term knew of it is forgotten
//   writing   a mark was sent, and its answer decides what happens next. Without an answer the same mark is sent again, and nothing is begun in the meantime
//   waiting   the mark is known; the next slot is not due yet
//   running   the work of a slot runs. No other begins before it has settled, whatever becomes of the term
//   ahead     the mark is later than the next slot of this clock: one of the clocks is wrong by more than a period. Nothing is begun
//
// Promises, while the store keeps what it has acknowledged. A slot is *begun* by the effect "begin".
//
//   mark "before"   No slot begins twice. It is begun only on the answer that its mark is written, in the term that wrote it. That mark was written over one of an earlier slot (the memo's
//                   guard compares what stands), marks only grow, and a memo of a term that was replaced is refused. So of all terms exactly one writes the mark that passes a slot.
//   mark "after"    With `missed: "all"` none is missing: the mark passes a slot only after its work has settled in a held term, and the next slot begun is always the first after the mark.
//
// Clocks of processes differ, and a slot is due by the leader's own clock. A leader whose clock is behind waits, because the mark is already later;
// one whose clock is ahead begins early, once.
import { assert, unreachable } from "../base/assert.ts";
import type { Stepped } from "../base/stepped.ts";
import type { Mark } from "./mark.ts";
import { dueSlots, type NextSlot } from "./slots.ts";

/** What a schedule wants. */
export interface Plan {
  readonly next: NextSlot;
  /** Which slots are begun late, if they could not be begun in time: each of them, the last of them, or none. */
  readonly missed: "all" | "last" | "none";
  /** With "all": how many are begun late at most; older ones are left out, and an event tells of them. */
  readonly missedMax: number;
  readonly mark: "before" | "after";
}

/** Read at the moment of the step. */
export interface ScheduleMoment {
  /** UTC by the clock of this host. */
  readonly wallMs: number;
  /** `term.isLeading()`. Work is begun, and a slot is passed, only while this holds. */
  readonly isLeading: boolean;
  /** `term.isHeld()`: the end of a work may still be noted. */
  readonly isHeld: boolean;
}

export type ScheduleState =
  | { readonly at: "away" }
  | { readonly at: "reading"; readonly sinceMs: number }
  | { readonly at: "writing"; readonly book: TermNotes; readonly mark: Mark; readonly begins: Slot | undefined }
  | { readonly at: "waiting"; readonly book: TermNotes; readonly wakeMs: number }
  | { readonly at: "running"; readonly book: TermNotes; readonly slot: Slot; readonly hasLeft: boolean }
  | { readonly at: "ahead"; readonly book: TermNotes; readonly wakeMs: number };

/** What is known in one term. */
export interface TermNotes {
  /** The mark that stands, or that is passed over. */
  readonly mark: Mark;
  /** When this term began to look. A slot before that is a catch-up. */
  readonly sinceMs: number;
  /** Slots up to here were counted against `missedMax`. */
  readonly countedMs: number;
}

export interface Slot {
  readonly slotMs: number;
  readonly isCatchUp: boolean;
}

export type ScheduleInput =
  /** A term has begun. */
  | { readonly type: "lead" }
  /** The term's signal has aborted, or it is lost. Work that runs goes on until it settles. */
  | { readonly type: "leave" }
  | { readonly type: "read"; readonly mark: Mark | undefined }
  | { readonly type: "written" }
  /** The store did not say whether the mark was written, or what stands. */
  | { readonly type: "unanswered" }
  | { readonly type: "tick" }
  /** `stopped`: the work ended because its term did; nobody can say how much of it was done. */
  | { readonly type: "settled"; readonly outcome: "done" | "failed" | "stopped" };

export type ScheduleEffect =
  /** Read what stands; answer with `read` or `unanswered`. */
  | { readonly type: "read" }
  /** Write this mark over what stands; answer with `written` or `unanswered`. An answer of a lost term is `leave`. */
  | { readonly type: "write"; readonly mark: Mark }
  /** Call the work now, before anything else happens; answer with `settled`. */
  | { readonly type: "begin"; readonly slot: Slot }
  | { readonly type: "tell"; readonly news: SlotNews };

/** What happens to a schedule, for those who watch it. */
export type SlotNews =
  | { readonly is: "waiting"; readonly nextMs: number | undefined }
  | { readonly is: "begun"; readonly slotMs: number; readonly isCatchUp: boolean }
  | { readonly is: "ended"; readonly slotMs: number; readonly outcome: "done" | "failed" | "stopped" }
  /** `count` slots up to `slotMs` are not begun: nobody could begin them in time, and `missed` says to leave them out. */
  | { readonly is: "missed"; readonly slotMs: number; readonly count: number }
  /** An earlier term has begun this slot, and nobody noted its end. It is not begun again. */
  | { readonly is: "unfinished"; readonly slotMs: number }
  | { readonly is: "ahead"; readonly slotMs: number; readonly nextMs: number };

export type ScheduleStepped = Stepped<ScheduleState, ScheduleEffect>;

export const AWAY: ScheduleState = { at: "away" };

/** When the machine wants a `tick`, by the wall clock; Infinity: only when something happens. */
export function wakeAtMs(state: ScheduleState): number {
  return state.at === "waiting" || state.at === "ahead" ? state.wakeMs : Infinity;
}

export function stepSchedule(
  plan: Plan,
  state: ScheduleState,
  input: ScheduleInput,
  now: ScheduleMoment,
): ScheduleStepped {
  switch (input.type) {
    case "lead":
      // Work of an earlier term may still run. The election is not led again before that work has settled, so this cannot happen.
      assert(state.at !== "running", "no term begins while the work of an earlier one runs");
      return { state: { at: "reading", sinceMs: now.wallMs }, effects: [{ type: "read" }] };
    case "leave":
      return { state: state.at === "running" ? { ...state, hasLeft: true } : AWAY, effects: [] };
    case "read":
      return state.at === "reading" ? learn(plan, state.sinceMs, input.mark, now) : ignored(state);
    case "written":
      return state.at === "writing" ? goOn(plan, state, now) : ignored(state);
    case "unanswered":
      return { state, effects: askAgain(state) };
    case "tick":
      return state.at === "waiting" || state.at === "ahead"
        ? toldOnce(state, choose(plan, state.book, now))
        : ignored(state);
    case "settled":
      assert(state.at === "running", "only work that runs settles");
      return settle(plan, state, input.outcome, now);
    default:
      return unreachable(input);
  }
}

function ignored(state: ScheduleState): ScheduleStepped {
  return { state, effects: [] };
}

/** No answer is not "no": the same request is sent again, until there is an answer or the term is over. The memo's guard takes the second of two equal writes for the first. */
function askAgain(state: ScheduleState): readonly ScheduleEffect[] {
  if (state.at === "reading") return [{ type: "read" }];
  return state.at === "writing" ? [{ type: "write", mark: state.mark }] : [];
}

/**
 * The first step in a term is to learn what has been done. If there is no mark there was no term before; a mark is written then, so that the second
 * term does not miss a slot that came before it.
 */
function learn(plan: Plan, sinceMs: number, mark: Mark | undefined, now: ScheduleMoment): ScheduleStepped {
  if (mark !== undefined) {
    const book: TermNotes = { mark, sinceMs, countedMs: -Infinity };
    const known = choose(plan, book, now);
    return mark.state === "begun" ? told({ is: "unfinished", slotMs: mark.slotMs }, known) : known;
  }
  const initial = markOf(plan, now.wallMs, "initial", now);
  const book: TermNotes = { mark: initial, sinceMs, countedMs: -Infinity };
  return write(book, initial, undefined);
}

function write(book: TermNotes, mark: Mark, begins: Slot | undefined): ScheduleStepped {
  return { state: { at: "writing", book, mark, begins }, effects: [{ type: "write", mark }] };
}

/** SAFETY: the last look before a slot begins. The mark is acknowledged; that took time, in which the term may have ended. */
function goOn(plan: Plan, state: Extract<ScheduleState, { at: "writing" }>, now: ScheduleMoment): ScheduleStepped {
  const book: TermNotes = { ...state.book, mark: state.mark };
  if (state.begins === undefined) return choose(plan, book, now);
  return now.isLeading ? begin(book, state.begins) : { state: AWAY, effects: [] };
}

function begin(book: TermNotes, slot: Slot): ScheduleStepped {
  return {
    state: { at: "running", book, slot, hasLeft: false },
    effects: [
      { type: "tell", news: { is: "begun", ...slot } },
      { type: "begin", slot },
    ],
  };
}

function settle(
  plan: Plan,
  { book, slot, hasLeft }: Extract<ScheduleState, { at: "running" }>,
  outcome: "done" | "failed" | "stopped",
  now: ScheduleMoment,
): ScheduleStepped {
  const { slotMs } = slot;
  const ended: SlotNews = { is: "ended", slotMs, outcome };
  // Work that was stopped with its term is not passed: the next term begins it again, unless its mark was written before it began.
  if (outcome === "stopped" || !now.isHeld) return told(ended, { state: AWAY, effects: [] });
  const noted = told(ended, write(book, markOf(plan, slotMs, outcome, now), undefined));
  return hasLeft ? { state: AWAY, effects: noted.effects } : noted;
}

/** Which slot comes next, and whether it is due. */
function choose(plan: Plan, book: TermNotes, now: ScheduleMoment): ScheduleStepped {
  if (!now.isLeading) return { state: { at: "waiting", book, wakeMs: Infinity }, effects: [] };
  const { slotMs } = book.mark;
  const nextMs = plan.next(now.wallMs);
  if (nextMs !== undefined && slotMs > nextMs)
    return told({ is: "ahead", slotMs, nextMs }, { state: { at: "ahead", book, wakeMs: nextMs }, effects: [] });
  const { slot, leftOut, countedMs } = dueNow(plan, book, now.wallMs);
  if (slot === undefined) return wait(plan, book, now);
  const counted: TermNotes = { ...book, countedMs };
  if (plan.missed === "none" && slot.isCatchUp) {
    const passed: TermNotes = { ...counted, mark: { ...book.mark, slotMs: slot.slotMs } };
    return told({ is: "missed", slotMs: slot.slotMs, count: leftOut + 1 }, wait(plan, passed, now));
  }
  const begun =
    plan.mark === "before" ? write(counted, markOf(plan, slot.slotMs, "begun", now), slot) : begin(counted, slot);
  return leftOut === 0 ? begun : told({ is: "missed", slotMs: slot.slotMs, count: leftOut }, begun);
}

function wait(plan: Plan, book: TermNotes, now: ScheduleMoment): ScheduleStepped {
  const nextMs = plan.next(Math.max(book.mark.slotMs, now.wallMs));
  const state: ScheduleState = { at: "waiting", book, wakeMs: nextMs ?? Infinity };
  return told({ is: "waiting", nextMs }, { state, effects: [] });
}

interface Chosen {
  readonly slot: Slot | undefined;
  readonly leftOut: number;
  readonly countedMs: number;
}

function dueNow(plan: Plan, { mark, sinceMs, countedMs }: TermNotes, wallMs: number): Chosen {
  const most = plan.missed === "all" ? plan.missedMax : 1;
  // In a backlog that was counted already the next slot is simply the next one: each slot is looked at once.
  const isCounted = plan.missed === "all" && mark.slotMs < countedMs;
  const first = isCounted ? plan.next(mark.slotMs) : undefined;
  const due =
    first !== undefined && first <= wallMs
      ? { slots: [first], leftOut: 0 }
      : dueSlots(plan.next, mark.slotMs, wallMs, most);
  const [slotMs] = due.slots;
  const nowCountedMs = isCounted ? countedMs : (due.slots.at(-1) ?? countedMs);
  if (slotMs === undefined) return { slot: undefined, leftOut: 0, countedMs: nowCountedMs };
  const after = plan.next(slotMs);
  const isCatchUp = slotMs < sinceMs || (after !== undefined && after <= wallMs);
  return { slot: { slotMs, isCatchUp }, leftOut: due.leftOut, countedMs: nowCountedMs };
}

function markOf(plan: Plan, slotMs: number, state: Mark["state"], now: ScheduleMoment): Mark {
  return { slotMs, state, atMs: now.wallMs, nextMs: plan.next(slotMs) };
}

/** News of a mark that is ahead is told once, however often it is looked at. */
function toldOnce(before: ScheduleState, stepped: ScheduleStepped): ScheduleStepped {
  return before.at === "ahead" && stepped.state.at === "ahead" ? { state: stepped.state, effects: [] } : stepped;
}

function told(news: SlotNews, { state, effects }: ScheduleStepped): ScheduleStepped {
  return { state, effects: [{ type: "tell", news }, ...effects] };
}
