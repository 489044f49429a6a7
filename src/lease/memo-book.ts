// The memos of one term: what is known of each key, what waits to be written, what is under way.
//
//   order       one request of a key at a time, in the order of the calls; different keys do not wait for each other
//   read first  the first write of a key in a term follows a read that was sent after the grant, so that the term knows what its predecessors wrote
//   unknown     a write without an answer is sent again with the same `n` and over the same version, until it is answered or the term is over
//   the end     nothing is sent once the term is not held: after its deadline, or after its work has settled, which is before the release is sent
//
// ARGUMENT (the order of memos is that of their terms): the store writes only while its seat shows this token, in one step. Once another token was granted, none of
// this term's writes is applied any more, however late it arrives. Within the term, a late try finds another version than the one it was sent over: versions do not
// repeat, so that it changes nothing.
import type { Reading } from "../base/clock.ts";
import { type ConclaveError, type LossReason, TermLostError } from "../base/errors.ts";
import { retryAfterMs } from "./backoff.ts";
import type { Hold, MemoWrite, Name } from "./exchange.ts";
import { send } from "./report.ts";
import type { MemoKey, MemoWish, TermMemos } from "./memo-state.ts";
import type { Effect, Machine, Open } from "./state.ts";

/** Of a term that is held. */
export function keyOf(machine: Machine, hold: Hold, key: string): MemoKey {
  let memos = machine.memos.get(hold.name);
  if (memos === undefined) machine.memos.set(hold.name, (memos = { hold, keys: new Map() }));
  let found = memos.keys.get(key);
  if (found === undefined) memos.keys.set(key, (found = unread(key)));
  return found;
}

function unread(key: string): MemoKey {
  return {
    key,
    isRead: false,
    over: undefined,
    n: 0,
    isSent: false,
    waiting: [],
    errand: 0,
    failures: 0,
    retryAt: Infinity,
  };
}

/** Sends what comes next for this key, if something waits and nothing is under way. */
export function advance(machine: Machine, open: Open, { hold }: TermMemos, memo: MemoKey, effects: Effect[]): void {
  const wish = memo.waiting[0];
  if (wish === undefined || memo.errand !== 0) return;
  memo.retryAt = Infinity;
  const { name, bid } = hold;
  const errand = { kind: "memo", does: memo.isRead ? "write" : "read", name, bid, key: memo.key } as const;
  const request = memo.isRead
    ? ({ method: "writeMemo", write: writeOf(open, hold, memo, wish) } as const)
    : ({ method: "readMemos", name, key: memo.key } as const);
  memo.errand = send(machine, errand, open.pace.requestTimeoutMs, request, effects);
}

function writeOf(open: Open, hold: Hold, memo: MemoKey, wish: MemoWish): MemoWrite {
  if (!memo.isSent) memo.n++;
  memo.isSent = true;
  const { value, ban } = wish;
  return { session: open.session, hold, key: memo.key, value, n: memo.n, over: memo.over, ban };
}

/** The first of those that wait has its outcome. */
export function conclude(memo: MemoKey, error: ConclaveError | undefined, effects: Effect[]): void {
  const wish = memo.waiting.shift();
  memo.isSent = false;
  memo.failures = 0;
  if (wish !== undefined) effects.push({ type: "done", id: wish.id, error });
}

/** The same again after a pause. */
export function postpone(machine: Machine, memo: MemoKey, now: Reading): void {
  memo.failures++;
  memo.retryAt = now.mono + retryAfterMs(machine, memo.failures);
  machine.memosDueAt = Math.min(machine.memosDueAt, memo.retryAt);
}

/** Sends again what is due. */
export function resendMemos(machine: Machine, now: Reading, effects: Effect[]): void {
  const { session } = machine;
  if (now.mono < machine.memosDueAt || session.kind !== "open") return;
  machine.memosDueAt = Infinity;
  for (const memos of machine.memos.values())
    for (const memo of memos.keys.values()) {
      if (memo.retryAt <= now.mono) advance(machine, session, memos, memo, effects);
      machine.memosDueAt = Math.min(machine.memosDueAt, memo.retryAt);
    }
}

/** The term is not held any more. What was sent of these and not answered may have been applied. */
export function endMemos(machine: Machine, name: Name, reason: LossReason, effects: Effect[]): void {
  const memos = machine.memos.get(name);
  if (memos === undefined) return;
  machine.memos.delete(name);
  if (machine.memos.size === 0) machine.memosDueAt = Infinity;
  for (const { waiting } of memos.keys.values())
    for (const { id } of waiting) effects.push({ type: "done", id, error: new TermLostError(name, reason) });
}
