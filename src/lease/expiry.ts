// Lifelines, which pass by themselves. This runs before anything else at every step, so that a machine that has not yet noticed that its deadline is past never
// looks at an answer, however good. An answer that comes late never gives a later deadline (law 1), and the clock decides, not the timer (law 3).
import type { Reading } from "../base/clock.ts";
import type { LossReason } from "../base/errors.ts";
import { becomeEnding, becomeLost, heldTerm, isIn, released, restartPursuit } from "./campaign.ts";
import { firstOf, isPast, NEVER, remainingMs, sleptSince } from "./deadline.ts";
import { noteLapsed } from "./lapsed.ts";
import { type Lifeline, nextChange, nextInstant, stateOf } from "./lifeline.ts";
import { emit } from "./report.ts";
import { countBarren, hasTerms } from "./session.ts";
import type { Campaign, Effect, Machine, Open } from "./state.ts";
import { endTenures, isTenureDue } from "./tenure.ts";

/** Brings the machine's state up to the clock. */
export function expire(machine: Machine, now: Reading, effects: Effect[]): void {
  expireLifelines(machine, now, effects);
  endTenures(machine, now, effects);
}

function expireLifelines(machine: Machine, now: Reading, effects: Effect[]): void {
  const { session } = machine;
  if (session.kind !== "open") return;
  expireRecords(machine, session, now, effects);
  if (stateOf(session.lifeline, now) === session.lifeline.announced) return;
  const reason = whyExpired(machine, session.lifeline, now);
  // No term depends on this date: the session lives as long as the store says so, and a proof comes before anything is claimed (machine.ts, `pursue`).
  const isIdle = session.hearsay && !hasTerms(machine);
  const state = cross(machine, session.lifeline, machine.campaigns.values(), now, effects);
  if (state === "lost" && !isIdle) endSession(machine, session, reason, now, effects);
}

/**
 * Records that are renewed one by one have a lifeline each. To look at all of them at every step would take longer than the step, so this is done only when one of them may have changed.
 *
 * INVARIANT  of every held term with a lifeline of its own, at every reading before `machine.recordsDueAt`: its state by the clock is the one that was announced.
 *   This function establishes it: what was announced lasts until the next instant of that lifeline, because hands never go back. A grant adds its first instant (campaign.ts). Only a
 *   renewal makes a state better again, and it makes all records due (answers.ts).
 *   Whether a term is held does not rest on this: that is asked of the clock itself (law 3).
 */
function expireRecords(machine: Machine, { lifeline }: Open, now: Reading, effects: Effect[]): void {
  if (!isPast(machine.recordsDueAt, now)) return;
  machine.recordsDueAt = NEVER;
  for (const campaign of machine.campaigns.values()) {
    const own = heldTerm(campaign)?.lifeline;
    if (own === undefined || own === lifeline) continue;
    if (stateOf(own, now) !== own.announced) cross(machine, own, [campaign], now, effects);
    machine.recordsDueAt = firstOf(machine.recordsDueAt, nextChange(own));
  }
}

/** Whether time alone has changed something that the machine's state does not show yet. This is cheap, because every `isHeld` asks it. */
export function isBehindClock(machine: Machine, now: Reading): boolean {
  const { session } = machine;
  if (session.kind !== "open") return false;
  const { lifeline } = session;
  return (
    stateOf(lifeline, now) !== lifeline.announced || isPast(machine.recordsDueAt, now) || isTenureDue(machine, now)
  );
}

/** A lifeline has come into another state: reports that for each of its terms. */
function cross(
  machine: Machine,
  lifeline: Lifeline,
  campaigns: Iterable<Campaign>,
  now: Reading,
  effects: Effect[],
): Lifeline["announced"] {
  const state = stateOf(lifeline, now);
  lifeline.announced = state;
  for (const campaign of campaigns) {
    if (heldTerm(campaign)?.lifeline !== lifeline) continue;
    if (isIn(campaign, "leading") && (state === "safe" || state === "jeopardy"))
      emit(effects, { type: "state", election: campaign.name, state });
    if (isIn(campaign, "leading") && state === "ending")
      becomeEnding(campaign, whyExpired(machine, lifeline, now), effects);
    if (state === "lost" && (isIn(campaign, "leading") || isIn(campaign, "ending")))
      becomeLost(machine, campaign, whyExpired(machine, lifeline, now), now, effects);
  }
  return state;
}

function whyExpired(machine: Machine, lifeline: Lifeline, now: Reading): "expired" | "suspended" | "stalled" {
  if (sleptSince(lifeline.provenAt, now, machine.settings.margins.grain)) return "suspended";
  return machine.session.kind === "open" && machine.session.stalled ? "stalled" : "expired";
}

/**
 * The terms of one candidate share one session (law 15): the session is over, and so are all of them. `session-lost`: the store said so. Otherwise our own deadline has passed: the
 * store may still know the session, so it is ended there when the work of its terms has settled (law 8, lapsed.ts).
 */
export function endSession(machine: Machine, open: Open, reason: LossReason, now: Reading, effects: Effect[]): void {
  machine.session = { kind: "none", opened: open.opened };
  if (reason === "session-lost") countBarren(machine, open.keepProven > 0, now);
  emit(effects, { type: "session", state: "lost", session: open.session.id });
  for (const campaign of machine.campaigns.values()) {
    if (isIn(campaign, "standing")) {
      campaign.stage.afterKeep = 0; // it counted keeps of this session
      restartPursuit(machine, campaign, now);
    } else if (isIn(campaign, "leading") || isIn(campaign, "ending"))
      becomeLost(machine, campaign, reason, now, effects);
    else if (isIn(campaign, "settling") && campaign.stage.awaits === "release")
      released(machine, campaign, "unknown", now, effects);
  }
  if (reason !== "session-lost") noteLapsed(machine, open, unsettledWorks(machine, open), now);
}

function unsettledWorks(machine: Machine, { opened }: Open): number {
  let works = 0;
  for (const campaign of machine.campaigns.values())
    if (isIn(campaign, "settling") && campaign.stage.awaits === "work" && campaign.stage.term.opened === opened)
      works++;
  return works;
}

/** The monotonic instant at which `expire` next has something to do. */
export function nextExpiry(machine: Machine, now: Reading): number {
  const { session } = machine;
  if (session.kind !== "open" || machine.campaigns.size === 0) return Infinity;
  // A date that has passed while no term depended on it stays past: only a proof changes that.
  const next = session.lifeline.announced === "lost" ? Infinity : nextInstant(session.lifeline, now);
  return Math.min(next, now.mono + remainingMs(machine.recordsDueAt, now), machine.tenureDueAt);
}
