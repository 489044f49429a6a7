// A lifeline: the instants that follow from the last proven keep. One per session where one keep extends all holds, one per hold where
// each record is renewed by itself. Terms refer to it, so that ten thousand of them are extended by one assignment.
//
//   INVARIANT  provenAt < jeopardyAt ≤ signalAt ≤ deadline      on each hand        (resolveSettings sees to it)
//   INVARIANT  provenAt never decreases                          success never re-dates, a late answer never moves it back
import { assert } from "../base/assert.ts";
import type { Reading } from "../base/clock.ts";
import { deadlineOf, earlier, isLater, isPast, later, NEVER } from "./deadline.ts";
import type { TermState } from "./events.ts";
import type { Pace, Settings } from "./settings.ts";

export interface Lifeline {
  /** The send of the keep that was proven last. */
  provenAt: Reading;
  jeopardyAt: Reading;
  signalAt: Reading;
  deadline: Reading;
  /** The state that was announced last; what the clock says may be further on. */
  announced: TermState;
}

/** What a session's instants keep clear of. Fixed when it is opened. */
export type Bounds = Pick<Settings, "margins" | "drainMs">;

export function createLifeline(sentAt: Reading, ttlMs: number, pace: Pace, bounds: Bounds): Lifeline {
  const deadline = deadlineOf(sentAt, ttlMs, bounds.margins);
  return {
    provenAt: sentAt,
    jeopardyAt: later(sentAt, pace.overdueAfterMs),
    signalAt: earlier(deadline, bounds.drainMs),
    deadline,
    announced: "safe",
  };
}

/** A keep sent at `sentAt` is proven. */
export function extend(lifeline: Lifeline, sentAt: Reading, ttlMs: number, pace: Pace, bounds: Bounds): void {
  if (!isLater(sentAt, lifeline.provenAt)) return;
  const next = createLifeline(sentAt, ttlMs, pace, bounds);
  assert(next.deadline.mono >= lifeline.deadline.mono, "a later keep of the same ttl gives a later deadline");
  lifeline.provenAt = next.provenAt;
  lifeline.jeopardyAt = next.jeopardyAt;
  lifeline.signalAt = next.signalAt;
  lifeline.deadline = next.deadline;
}

/** By the clock, at `now`. */
export function stateOf(lifeline: Lifeline, now: Reading): TermState {
  if (!isPast(lifeline.jeopardyAt, now)) return "safe";
  if (isPast(lifeline.deadline, now)) return "lost";
  if (isPast(lifeline.signalAt, now)) return "ending";
  return "jeopardy";
}

/** The monotonic instant at which the state may next change by itself. Boot time may be further on: the step at that instant looks at both hands. */
export function nextInstant(lifeline: Lifeline, now: Reading): number {
  const { jeopardyAt, signalAt, deadline } = lifeline;
  const next = !isPast(jeopardyAt, now) ? jeopardyAt : !isPast(signalAt, now) ? signalAt : deadline;
  return now.mono + Math.max(0, Math.min(next.mono - now.mono, next.boot - now.boot));
}

/** The instant at which the announced state ends by itself. */
export function nextChange({ announced, jeopardyAt, signalAt, deadline }: Lifeline): Reading {
  switch (announced) {
    case "safe":
      return jeopardyAt;
    case "jeopardy":
      return signalAt;
    case "ending":
      return deadline;
    case "lost":
      return NEVER;
  }
}
