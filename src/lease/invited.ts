// Who leads next: invitations, by which a term is transferred to a candidate, and by which candidates with a priority are preferred.
//
// An invitation is a hint that everybody who watches a name gets (exchange.ts, `Invitation`). It names a term by its token, and a candidate that is to lead after it.
// An invitation grants nothing. The leader that leaves gives the seat back, by the transition that `resign` has; the next one claims, and the store gives it a fresh token. So no
// invitation, however late, doubled, lost or made up, can make two leaders. At worst another candidate leads, or nobody leads for `yieldMs` (backoff.ts), which is
// at most one ttl. There are four rules.
//
//   the target     A waiting candidate that is invited by somebody else asks the leader of that term to leave (`askToLeave`), if it could claim at once. So a term is given
//                  up for a candidate only after that candidate has answered. The leader obeys by asked.ts: only a request that names its own term.
//   the others     A waiting candidate that hears that another is invited leaves a seat that it finds free to the other, for `yieldMs` and once for each term. This is a courtesy:
//                  a candidate that has not heard does not wait, and nothing relies on it.
//   the pleader    A waiting candidate with a priority invites itself, once in a ttl, for as long as another leads.
//   the outranked  A leader that hears such an invitation for its own term gives the term up, if its own priority is lower and it has led for two ttls. The priority must be
//                  greater: of two candidates at most one can ever push the other out. The time bounds how often a candidate that comes and goes can change the leader.
//
// This is only for races. In a line the store's queue says who is next, and a waiting candidate hears only of the one before it.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import { isSameTerm } from "./asked.ts";
import { yieldMs } from "./backoff.ts";
import { becomeEnding, type CampaignIn, isIn } from "./campaign.ts";
import type { Invitation, Seat, Token } from "./exchange.ts";
import { greatestIn } from "./greatest.ts";
import { send } from "./report.ts";
import type { Campaign, Effect, Machine, Request, StandingStage } from "./state.ts";

/** A term that is younger is not given up for a priority. */
const LEAST_TENURE_TTLS = 2;
/** An invitation is remembered for so long: a leader that dies is replaced after one ttl of silence, and pleas are a ttl and a poll apart. */
const REMEMBERED_TTLS = 3;

export function hearInvitation(
  machine: Machine,
  campaign: Campaign,
  invitation: Invitation,
  now: Reading,
  effects: Effect[],
): void {
  if (isIn(campaign, "leading") && isOutranked(machine, campaign, invitation, now))
    return becomeEnding(campaign, "outranked", effects);
  if (!isIn(campaign, "standing") || isOld(campaign, invitation.token)) return;
  if (!isFor(machine, invitation)) return beCourteous(machine, campaign, invitation, now);
  if (invitation.priority !== undefined) return; // it is this candidate's own plea
  campaign.courtesy = undefined; // the last invitation counts
  if (couldClaim(machine, campaign, now))
    speak(machine, { method: "askToLeave", name: campaign.name, token: invitation.token }, effects);
}

function isOutranked({ settings }: Machine, campaign: Campaign, invitation: Invitation, now: Reading): boolean {
  if (!isIn(campaign, "leading") || invitation.priority === undefined) return false;
  const { hold, electedAt } = campaign.stage.term;
  if (!isSameTerm(hold.token, invitation.token) || invitation.priority <= settings.priority) return false;
  return !campaign.brief && now.mono - electedAt >= LEAST_TENURE_TTLS * settings.ttlMs;
}

/** A later term was seen at the name. Tokens of different domains do not compare (law 10), so of another domain nothing is known. */
function isOld({ greatest }: Campaign, { domain, value }: Token): boolean {
  const seen = greatestIn(greatest, domain);
  return seen !== undefined && value < seen;
}

/** The id of a candidate ends with the nonce of its process, which people leave out. */
function isFor({ settings, nonce }: Machine, { to }: Invitation): boolean {
  return to === settings.candidate || `${to}_${nonce}` === settings.candidate;
}

function beCourteous(machine: Machine, campaign: Campaign, { token, priority }: Invitation, now: Reading): void {
  const { settings } = machine;
  if (priority !== undefined && priority <= settings.priority) return;
  const until = now.mono + REMEMBERED_TTLS * settings.ttlMs;
  if (campaign.courtesy?.bid === token.bid) campaign.courtesy.until = until;
  else campaign.courtesy = { bid: token.bid, until, isSpent: false };
}

/** Whether a claim that would be sent now is put off, because another is invited. Once for each term: then the name is claimed, whether the other lives or not. */
export function holdsBack(machine: Machine, campaign: CampaignIn<StandingStage>, now: Reading): boolean {
  const { courtesy, stage } = campaign;
  if (courtesy === undefined || courtesy.isSpent || now.mono >= courtesy.until) return false;
  if (stage.pursuit.bid !== undefined) return false; // an attempt without an answer is sent again until its answer is definite (law 7), so it is not put off
  courtesy.isSpent = true;
  stage.notBefore = Math.max(stage.notBefore, now.mono + yieldMs(machine));
  schedule(machine.agenda, campaign, stage.notBefore);
  return true;
}

/** A look has shown this seat. A candidate with a priority then tells those who lead and wait again that it waits. */
export function plead(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  seat: Seat,
  now: Reading,
  effects: Effect[],
): void {
  const { candidate, priority, ttlMs } = machine.settings;
  const { holder } = seat;
  if (priority === 0 || campaign.brief || seat.state !== "held" || now.mono < campaign.pleadAt) return;
  if (holder?.token === undefined || holder.domain === undefined || holder.bid === undefined) return;
  if (!couldClaim(machine, campaign, now)) return;
  campaign.pleadAt = now.mono + ttlMs;
  const token = { domain: holder.domain, value: holder.token, bid: holder.bid };
  speak(machine, { method: "invite", name: campaign.name, invitation: { token, to: candidate, priority } }, effects);
}

/** Whether it has a session that is proven, the store answers it, and it is not to stay away. */
function couldClaim({ session }: Machine, { stage }: CampaignIn<StandingStage>, now: Reading): boolean {
  return (
    session.kind === "open" && session.failures === 0 && stage.pursuit.failures === 0 && now.mono >= stage.notBefore
  );
}

/** If the message is lost, the sender says it again if it still matters. */
function speak(machine: Machine, request: Request, effects: Effect[]): void {
  send(machine, { kind: "word" }, machine.settings.pace.requestTimeoutMs, request, effects);
}
