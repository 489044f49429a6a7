// The line: the store orders candidates by when they joined, and the first one leads. Each waits only for those before it.
//
// Why at most one leads: the store puts each entry once into a total order and removes an entry only when it was given back or its
//   session is over by the store's own judgement; by then the holder's deadline, which counts from the send (law 1), has passed. `granted` is the store's word, given by
//   the same kind of request that joins, that my entry is the first. A look or a hint that shows nobody ahead proves nothing (it may be
//   stale): it only makes the candidate ask again by a claim with the same bid.
// An entry that a look does not show is asked for by such a claim too: one that is gone joins again by it, at the end. An entry of which a keep has said
// that it is gone, or that belongs to another session, is never waited on: the line is joined anew with a new bid.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import { nextPollAt } from "./backoff.ts";
import { type CampaignIn, noteSeat } from "./campaign.ts";
import type { Hold, Seat } from "./exchange.ts";
import type { Effect, LinePursuit, Machine, Open, StandingStage } from "./state.ts";

/** What a due pursuit does next. */
export function nextLineMove(pursuit: LinePursuit): "claim" | "look" {
  return pursuit.place === undefined || pursuit.first ? "claim" : "look";
}

/**
 * The store has put me in line, behind others. The answer does not say who leads: a place that is new is looked at once, so that people are told. After that
 * a change before me is heard by the watch. Only a new place is: a look and a claim that contradict each other must not take turns without a pause.
 */
export function handleWaiting(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  pursuit: LinePursuit,
  hold: Hold,
  now: Reading,
  effects: Effect[],
): void {
  const isNew = pursuit.place === undefined;
  pursuit.place = hold;
  pursuit.first = false;
  campaign.askedBy = open.keepsSent;
  effects.push({ type: "watch", question: { name: campaign.name, bid: hold.bid, session: open.session } });
  effects.push({ type: "contested", name: campaign.name });
  const at = nextAt(machine, pursuit, now);
  schedule(machine.agenda, campaign, isNew ? now.mono : at);
}

/** The next poll; at once if a hint came while the answer was on its way. */
function nextAt(machine: Machine, pursuit: LinePursuit, now: Reading): number {
  const { first, hinted } = pursuit;
  pursuit.hinted = false;
  return first || hinted ? now.mono : nextPollAt(machine, now.mono);
}

/** A look answered where I stand. */
export function handleLineSeat(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  pursuit: LinePursuit,
  seat: Seat,
  now: Reading,
  effects: Effect[],
): void {
  noteSeat(campaign, seat, effects);
  if (pursuit.place === undefined) return;
  // An entry that is not there is gone, or the look was stale. A claim with the same bid tells the two apart and keeps the place where there is one.
  // Giving the place up by a read would cost it each time that an old copy answers, and every such change of the line would make the others look.
  pursuit.first = seat.place?.present === false || seat.place?.ahead === 0;
  schedule(machine.agenda, campaign, nextAt(machine, pursuit, now));
}
