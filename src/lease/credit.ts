// A claim on credit. The keeps of a candidate that waits prove nothing (session.ts, `wishOf`), so before it is announced its session has to be proven. The claim that
// finds it first can do that in passing, if the store has given the last keep a *witness*: the claim names it, and the grant says whether it confirms that keep.
//
// LAW 6, proof. What `confirms` says is the proof of a keep (exchange.ts): the judge had received that keep while it was the judge. The claim was sent after the
//   keep was answered, because the witness came with that answer.
// LAW 1, deadline from send. The date is that of the KEEP, read before it left, and never that of the claim. A claim extends nothing at the store.
// So an announced term rests on a proven keep, as always. The only difference is which answer proves it.
//
// A grant that does not confirm the keep is neither announced nor given back: giving it back would cost the place in the line. The place stays, and a keep with
// proof is sent before the next claim.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import { type CampaignIn, grant } from "./campaign.ts";
import { elapsedMs } from "./deadline.ts";
import type { Claimed, Hold } from "./exchange.ts";
import { expire } from "./expiry.ts";
import { createLifeline, extend, stateOf } from "./lifeline.ts";
import type { Effect, Heard, Machine, Open, Pursuit, StandingStage } from "./state.ts";

/**
 * Only if the candidate stands in the line already, and if the last keep, once confirmed, leaves time for another. Not with manual renewal: there a term counts
 * from a keep that was asked for in this invocation (law 4).
 */
export function hasCredit(machine: Machine, open: Open, pursuit: Pursuit, now: Reading): boolean {
  const { heard } = open;
  if (heard === undefined || pursuit.shape !== "line" || pursuit.place === undefined) return false;
  if (machine.settings.renewal === "manual" || !isInTime(machine, open, heard, now)) return false;
  return stateOf(createLifeline(heard.sentAt, open.session.ttlMs, open.pace, open.bounds), now) === "safe";
}

/** The store has granted what a standing campaign has claimed. */
export function handleGranted(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  { hold, confirms }: Extract<Claimed, { kind: "granted" }>,
  heard: Heard | undefined,
  now: Reading,
  effects: Effect[],
): void {
  const isOnCredit = campaign.stage.pursuit.onCredit;
  if (isOnCredit && !redeem(machine, open, heard, confirms, now, effects))
    return proveFirst(machine, open, campaign, hold, now);
  grant(machine, open, campaign, hold, now, effects);
}

/** Whether a grant on credit may be announced: because it confirms the keep, or because another proof came first. */
function redeem(
  machine: Machine,
  open: Open,
  heard: Heard | undefined,
  confirms: true | undefined,
  now: Reading,
  effects: Effect[],
): boolean {
  if (confirms === true && heard !== undefined && isInTime(machine, open, heard, now)) {
    extend(open.lifeline, heard.sentAt, open.session.ttlMs, open.pace, open.bounds);
    open.keepProven = Math.max(open.keepProven, heard.keep);
    machine.barren = 0;
    expire(machine, now, effects);
  }
  const state = stateOf(open.lifeline, now);
  return state === "safe" || state === "jeopardy";
}

/** The candidate is first in the line, and its session is not proven. It keeps its place, no claim of it is on credit again, and so a keep with proof comes next (machine.ts, `pursue`). */
function proveFirst(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  place: Hold,
  now: Reading,
): void {
  const { pursuit } = campaign.stage;
  if (pursuit.shape === "line") {
    pursuit.place = place;
    pursuit.first = true;
  }
  open.heard = undefined;
  schedule(machine.agenda, campaign, now.mono);
}

/** Where an answer that comes late proves nothing (session.ts, `prove`), this one must come in time, too. */
function isInTime({ settings }: Machine, { proof }: Open, heard: Heard, now: Reading): boolean {
  return settings.guarantee.keepProves === "this-send" && elapsedMs(heard.sentAt, now) <= proof.withinMs;
}
