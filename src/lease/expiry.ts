// What passes by itself: lifelines. Run before anything else at every step, so that no answer, however good, is looked at by a machine that
// has not yet noticed that its deadline is past. LAW 1: success never re-dates; LAW 3: the clock decides, not the timer.
import type { Reading } from "../base/clock.ts";
import type { LossReason } from "../base/errors.ts";
import { becomeEnding, becomeLost, heldTerm, isIn, released, restartPursuit } from "./campaign.ts";
import { sleptSince } from "./deadline.ts";
import { noteLapsed } from "./lapsed.ts";
import { type Lifeline, nextInstant, stateOf } from "./lifeline.ts";
import { emit } from "./report.ts";
import { countBarren, hasTerms } from "./session.ts";
import type { Campaign, Effect, Machine, Open } from "./state.ts";
import { endTenures, isTenureDue } from "./tenure.ts";

/** Brings books and clock together. */
export function expire(machine: Machine, now: Reading, effects: Effect[]): void {
  expireLifelines(machine, now, effects);
  endTenures(machine, now, effects);
}

function expireLifelines(machine: Machine, now: Reading, effects: Effect[]): void {
  const { session } = machine;
  if (session.kind !== "open") return;
  if (machine.settings.guarantee.keep === "per-hold")
    for (const campaign of machine.campaigns.values()) {
      const term = heldTerm(campaign);
      if (term !== undefined && stateOf(term.lifeline, now) !== term.lifeline.announced)
        cross(machine, term.lifeline, [campaign], now, effects);
    }
  if (stateOf(session.lifeline, now) === session.lifeline.announced) return;
  const reason = whyExpired(machine, session.lifeline, now);
  // Nothing hangs on this date: the session lives as long as the store says so, and a proof comes before anything is claimed (machine.ts, `pursue`).
  const isIdle = session.hearsay && !hasTerms(machine);
  const state = cross(machine, session.lifeline, machine.campaigns.values(), now, effects);
  if (state === "lost" && !isIdle) endSession(machine, session, reason, now, effects);
}

/** Whether time alone has changed something that the books do not show yet. Cheap: asked at every `isHeld`. */
export function isBehindClock(machine: Machine, now: Reading): boolean {
  const { session } = machine;
  if (session.kind !== "open") return false;
  if (stateOf(session.lifeline, now) !== session.lifeline.announced || isTenureDue(machine, now)) return true;
  if (machine.settings.guarantee.keep === "one-request") return false;
  for (const campaign of machine.campaigns.values()) {
    const term = heldTerm(campaign);
    if (term !== undefined && stateOf(term.lifeline, now) !== term.lifeline.announced) return true;
  }
  return false;
}

/** A lifeline has come into another state: says so for each of its terms. */
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
 * LAW 15: the session is over, and everything that hung on it. `session-lost`: the store said so. Otherwise our own deadline has passed: the
 * store may still know it, so it is ended there when the work of its terms has settled (law 8, lapsed.ts).
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
  // One that has passed while nothing hung on it is past: only a proof changes that.
  let next = session.lifeline.announced === "lost" ? Infinity : nextInstant(session.lifeline, now);
  if (machine.settings.guarantee.keep === "per-hold")
    for (const campaign of machine.campaigns.values()) {
      const term = heldTerm(campaign);
      if (term !== undefined) next = Math.min(next, nextInstant(term.lifeline, now));
    }
  return Math.min(next, machine.tenureDueAt);
}
