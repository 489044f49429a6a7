// What of a session stands at the store and should not: a term that is over, a grant that came too late, a stray. It is given back as soon as possible, and until the store has answered.
//
// INVARIANT  no entry is given back by two releases at once; one whose release had no answer is tried again
import type { Reading } from "../base/clock.ts";
import type { Hold } from "./exchange.ts";
import { send } from "./report.ts";
import { releaseTimeoutMs } from "./session.ts";
import type { Effect, Machine, Open } from "./state.ts";

type Leftover = Open["leftovers"][number];

/** Something of this session stands at the store that should not: give it back as soon as possible. */
export function leaveBehind(open: Open, hold: Hold, now: Reading): void {
  if (leftoverOf(open, hold) === undefined) open.leftovers.push({ hold, isLeaving: false });
  open.leftoversAt = Math.min(open.leftoversAt, now.mono);
}

/** A release of it was answered: it is forgotten, or is tried again. */
export function settleLeftover(open: Open, hold: Hold, isGone: boolean): void {
  const leftover = leftoverOf(open, hold);
  if (leftover === undefined) return;
  leftover.isLeaving = false;
  if (isGone) open.leftovers.splice(open.leftovers.indexOf(leftover), 1);
}

function leftoverOf(open: Open, hold: Hold): Leftover | undefined {
  return open.leftovers.find((other) => other.hold.name === hold.name && other.hold.bid === hold.bid);
}

/**
 * Where one request serves many names, one release is under way at a time, and takes with it what has come together meanwhile. Where each name costs a request of its own anyway, nothing is gained by waiting for
 * the answer to the one before.
 */
const RELEASES_AT_ONCE = 64;

/** The monotonic instant at which the next release is sent. Infinity: there is nothing to give back, or an answer has to come first. */
export function leftoversDueAt({ settings }: Machine, open: Open): number {
  const most = settings.guarantee.keep === "per-hold" ? RELEASES_AT_ONCE : 1;
  return open.releases < most ? open.leftoversAt : Infinity;
}

/** Sends all leftovers that no release gives back yet, in one release. */
export function sendLeftovers(machine: Machine, open: Open, effects: Effect[]): void {
  const due = open.leftovers.filter(({ isLeaving }) => !isLeaving);
  open.leftoversAt = Infinity;
  if (due.length === 0) return; // an entry that was left behind again meanwhile is given back by a release that was sent before
  const holds = due.map(({ hold }) => hold);
  const errand = { kind: "release", opened: open.opened, holds, last: false } as const;
  const request = { method: "release", will: { session: open.session, holds, endSession: false } } as const;
  send(machine, errand, releaseTimeoutMs(open), request, effects);
  for (const leftover of due) leftover.isLeaving = true;
  open.releases++;
}
