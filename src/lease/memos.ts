// A write of a memo as the machine is asked for it, and what the store answers. Only an answered renewal extends a term (law 6), so this answer moves no deadline. It may only end
// the term, if it shows that the seat or the session is gone: then signal and loss come at once (law 5).
import type { Reading } from "../base/clock.ts";
import { ConclaveError, TermLostError } from "../base/errors.ts";
import type { Refused, Unknown } from "../base/outcome.ts";
import { becomeLost, heldTerm, isIn } from "./campaign.ts";
import type { Hold, StoredMemo, MemosRead, MemoWritten, Name } from "./exchange.ts";
import { endSession } from "./expiry.ts";
import { advance, conclude, keyOf, postpone } from "./memo-book.ts";
import { emitError, errorOf } from "./report.ts";
import type { MemoKey, TermMemos } from "./memo-state.ts";
import type { Answer, Effect, Errand, Input, Machine, Open } from "./state.ts";

type MemoErrand = Extract<Errand, { kind: "memo" }>;

export function handleMemo(machine: Machine, input: Extract<Input, { type: "memo" }>, effects: Effect[]): void {
  const { id, name, bid, key, value, ban } = input;
  const campaign = machine.campaigns.get(name);
  const term = campaign && heldTerm(campaign);
  const { session } = machine;
  if (term === undefined || term.hold.bid !== bid || session.kind !== "open" || term.opened !== session.opened) {
    const stage = campaign?.stage;
    const reason = stage?.kind === "settling" && stage.term.hold.bid === bid ? stage.reason : "expired";
    effects.push({ type: "done", id, error: new TermLostError(name, reason) });
    return;
  }
  const memo = keyOf(machine, term.hold, key);
  memo.waiting.push({ id, value, ban });
  const memos = machine.memos.get(name);
  if (memos !== undefined && memo.retryAt === Infinity) advance(machine, session, memos, memo, effects);
}

/** An answer for a term that is over is dropped: the callers that waited for it have been told. */
export function handleMemoAnswer(
  machine: Machine,
  id: number,
  errand: MemoErrand,
  answer: Answer,
  now: Reading,
  effects: Effect[],
): void {
  const memos = machine.memos.get(errand.name);
  const memo = memos?.keys.get(errand.key);
  const { session } = machine;
  if (memos === undefined || memo?.errand !== id || memos.hold.bid !== errand.bid || session.kind !== "open") return;
  memo.errand = 0;
  if (errand.does === "read") hearRead(machine, memos, memo, answer as MemosRead, now, effects);
  else hearWritten(machine, session, memos, memo, answer as MemoWritten, now, effects);
  // The answer may have ended the term, and its memos with it.
  const isHeld = machine.memos.get(errand.name) === memos && machine.session === session;
  if (isHeld && memo.retryAt === Infinity) advance(machine, session, memos, memo, effects);
}

function hearRead(
  machine: Machine,
  { hold }: TermMemos,
  memo: MemoKey,
  answer: MemosRead,
  now: Reading,
  effects: Effect[],
): void {
  if (answer.kind !== "memos") return fail(machine, hold.name, memo, "a read of a memo", answer, now, effects);
  const stands = answer.memos.find(({ key }) => key === memo.key);
  memo.isRead = true;
  memo.failures = 0;
  memo.over = stands?.version;
  if (isOf(hold, stands)) memo.n = Math.max(memo.n, stands.n);
}

function hearWritten(
  machine: Machine,
  open: Open,
  { hold }: TermMemos,
  memo: MemoKey,
  answer: MemoWritten,
  now: Reading,
  effects: Effect[],
): void {
  switch (answer.kind) {
    case "written":
      memo.over = answer.version;
      return conclude(memo, undefined, effects);
    case "conflict":
      return hearConflict(hold, memo, answer.memo, effects);
    case "seat-lost":
      return loseTerm(machine, hold, now, effects);
    case "session-lost":
      return endSession(machine, open, "session-lost", now, effects);
    case "unknown":
    case "refused":
      return fail(machine, hold.name, memo, "a memo", answer, now, effects);
  }
}

/**
 * An earlier write of this very term that came late, after it had been given up, is written over: the tries of the present one were sent over a version that will not
 * stand again, so that none of them is applied behind our back. Anything else was written past the seat: by hand, or by a copy of this process.
 */
function hearConflict(hold: Hold, memo: MemoKey, stands: StoredMemo | undefined, effects: Effect[]): void {
  if (isOf(hold, stands) && stands.n < memo.n) {
    memo.over = stands.version;
    return;
  }
  memo.isRead = false;
  const message = `"${hold.name}": the memo "${memo.key}" was changed, although this term holds the seat: by hand, by a restored store, or by a copy of this process. Nothing was written. Read it again (election.memo) and decide.`;
  conclude(memo, new ConclaveError("STORE_FOREIGN_DATA", message), effects);
}

function isOf({ token }: Hold, memo: StoredMemo | undefined): memo is StoredMemo {
  return memo !== undefined && memo.token.value === token?.value && memo.token.bid === token.bid;
}

function loseTerm(machine: Machine, { name, bid }: Hold, now: Reading, effects: Effect[]): void {
  const campaign = machine.campaigns.get(name);
  if (campaign === undefined || heldTerm(campaign)?.hold.bid !== bid) return;
  if (isIn(campaign, "leading") || isIn(campaign, "ending")) becomeLost(machine, campaign, "superseded", now, effects);
}

/** A refusal that trying again cannot help ends this write, and never the term. An earlier try of it may be applied yet: the next write reads first. */
function fail(
  machine: Machine,
  name: Name,
  memo: MemoKey,
  what: string,
  failure: Unknown | Refused,
  now: Reading,
  effects: Effect[],
): void {
  const error = errorOf(what, failure, machine);
  if (failure.kind === "unknown" || failure.retryable) {
    emitError(effects, "memo", error, name);
    return postpone(machine, memo, now);
  }
  memo.isRead = false;
  conclude(memo, error, effects);
}
