// One name, one campaign. Each transition of a campaign is a function with a verb for its name; no other file changes `stage`.
//
//   (idle)    no entry: neither wanted nor held
//   standing  wants the name and pursues it (race.ts, line.ts)
//   leading   holds it; the signal has not aborted
//   ending    the signal has aborted; still held, so that the work can stop while nobody else may lead
//   settling  no longer held; waits for the work to settle, or for the store to have been told
//
//   idle      stand                → standing
//   standing  granted              → leading          unless too late, no longer wanted or regressed: handed back, never announced (law 7)
//   standing  withdraw             → idle             what may stand at the store is given back
//   leading   signal instant       → ending(expired)
//   leading   resign, withdraw     → ending(resigned)
//   leading   asked to hand over   → ending(asked)               asked.ts; then as if it had resigned
//   leading   led for maxTenureMs  → ending(tenure)              tenure.ts; likewise
//   leading   a higher priority    → ending(outranked)           invited.ts; likewise
//   leading   work settles         → ending(resigned) → settling(release)
//   ending    work settles         → settling(release)           drain, then release (law 8); not held from here on
//   leading, ending  deadline, or the store says so → settling(work)     abort and loss at once (law 5)
//   settling  all done             → standing if still wanted, else idle
//
// LAW 8. The store is told only in `becomeReleasing`, which only `settle` reaches: after the work has ended. Work that has not settled
//   when the term is lost keeps the campaign in `settling`, and a settling campaign does not stand: a process whose old work still
//   runs is never elected again for that name.
// LAW 11. One campaign per name (the map's key), so one machine cannot hold a name twice.
import { schedule, strike } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import { ConclaveError, type LossReason } from "../base/errors.ts";
import { renewed } from "../base/worn-map.ts";
import { coolDownAfterMs, yieldMs } from "./backoff.ts";
import { earlierOf, firstOf, isPast, remainingMs } from "./deadline.ts";
import type { Hold, Name, Seat } from "./exchange.ts";
import { greatestIn, noted } from "./greatest.ts";
import { noteSettled } from "./lapsed.ts";
import { createLifeline, type Lifeline, nextChange, stateOf } from "./lifeline.ts";
import { endMemos } from "./memo-book.ts";
import { emit, emitError } from "./report.ts";
import { leaveBehind } from "./leftovers.ts";
import { nextProofAt } from "./session.ts";
import type {
  Campaign,
  Effect,
  EndingStage,
  LeadingStage,
  Machine,
  Open,
  Pursuit,
  SettlingStage,
  Stage,
  StandingStage,
  TermRecord,
} from "./state.ts";

export type CampaignIn<S> = Campaign & { stage: S };

export function isIn<K extends Campaign["stage"]["kind"]>(
  campaign: Campaign,
  kind: K,
): campaign is CampaignIn<Extract<Campaign["stage"], { kind: K }>> {
  return campaign.stage.kind === kind;
}

function enter(campaign: Campaign, stage: Stage): void {
  campaign.stage = stage;
}

/** The term, while the machine counts it as held; the clock may know better (`isHeldAt`). */
export function heldTerm(campaign: Campaign): TermRecord | undefined {
  return campaign.stage.kind === "leading" || campaign.stage.kind === "ending" ? campaign.stage.term : undefined;
}

/** Held is computed, not remembered (law 3): this asks the clock, at the moment of the question. */
export function isHeldAt(campaign: Campaign, now: Reading): boolean {
  const term = heldTerm(campaign);
  return term !== undefined && !isPast(term.lifeline.deadline, now);
}

// ---- standing ------------------------------------------------------------------------------------------------------------------------

export function createCampaign(
  machine: Machine,
  name: Name,
  value: string,
  brief: boolean,
  now: Reading,
  effects: Effect[],
): Campaign {
  const stage = standing(machine, now.mono);
  const campaign: Campaign = {
    name,
    wanted: true,
    value,
    brief,
    stage,
    askedBy: 0,
    shortTerms: 0,
    lostRaces: 0,
    greatest: [],
    answered: false,
    reported: undefined,
    courtesy: undefined,
    pleadAt: 0,
    dueAt: 0,
    place: -1,
  };
  machine.campaigns = renewed(machine.campaigns, ++machine.campaignsMade);
  machine.campaigns.set(name, campaign);
  becomeStanding(machine, campaign, now.mono, effects);
  return campaign;
}

function becomeStanding(machine: Machine, campaign: Campaign, dueAt: number, effects: Effect[]): void {
  enter(campaign, standing(machine, dueAt));
  machine.noneStands = false;
  schedule(machine.agenda, campaign, dueAt);
  emit(effects, { type: "standing", election: campaign.name });
}

function standing(machine: Machine, notBefore: number): StandingStage {
  const { session, settings } = machine;
  const attempt = {
    bid: undefined,
    firstSentAt: undefined,
    errand: 0,
    failures: 0,
    hinted: false,
    awaitsProof: false,
    onCredit: false,
  };
  const pursuit: Pursuit =
    settings.guarantee.shape === "race"
      ? { shape: "race", over: undefined, seen: undefined, hopeful: true, ...attempt }
      : { shape: "line", place: undefined, first: false, ...attempt };
  // With manual renewal, only a renewal of this invocation makes a term count (law 4): a keep that is sent from now on.
  const afterKeep = settings.renewal === "manual" && session.kind === "open" ? session.keepsSent + 1 : 0;
  return { kind: "standing", pursuit, afterKeep, notBefore };
}

/** The session that the attempt was made with is over: begin anew with the next one. What was seen of the seat stays seen. */
export function restartPursuit(machine: Machine, campaign: CampaignIn<StandingStage>, now: Reading): void {
  const { pursuit } = campaign.stage;
  pursuit.bid = undefined;
  pursuit.firstSentAt = undefined;
  pursuit.errand = 0;
  pursuit.hinted = false;
  pursuit.awaitsProof = false;
  if (pursuit.shape === "race") pursuit.over = undefined;
  else {
    pursuit.place = undefined;
    pursuit.first = false;
  }
  hasten(machine, campaign, now);
}

/** Makes the campaign act as soon as it may: now, or when it has cooled down. */
export function hasten(machine: Machine, campaign: CampaignIn<StandingStage>, now: Reading): void {
  schedule(machine.agenda, campaign, Math.max(now.mono, campaign.stage.notBefore));
}

/** There is a session: campaigns that wait for nothing else are due. */
export function hastenOpened(machine: Machine, now: Reading): void {
  for (const campaign of machine.campaigns.values())
    if (isIn(campaign, "standing") && campaign.place < 0) hasten(machine, campaign, now);
}

/** A keep was proven: claims that waited for that are due now, and not only when their pause is over. */
export function hastenProven(machine: Machine, now: Reading): void {
  for (const campaign of machine.campaigns.values())
    if (isIn(campaign, "standing") && campaign.stage.pursuit.awaitsProof) hasten(machine, campaign, now);
}

/** The name is not wanted any more. */
export function withdraw(machine: Machine, campaign: Campaign, now: Reading, effects: Effect[]): void {
  campaign.wanted = false;
  if (isIn(campaign, "leading")) becomeEnding(campaign, "resigned", effects);
  if (!isIn(campaign, "standing")) return;
  const { bid } = campaign.stage.pursuit;
  if (bid !== undefined && machine.session.kind === "open")
    leaveBehind(machine.session, { name: campaign.name, bid }, now);
  finish(machine, campaign, now, effects);
}

// ---- leading -------------------------------------------------------------------------------------------------------------------------

/** The store has granted `hold` to the attempt of a standing campaign. */
export function grant(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  hold: Hold,
  now: Reading,
  effects: Effect[],
): void {
  const { settings } = machine;
  const lifeline = lifelineOf(machine, open, campaign.stage);
  const state = stateOf(lifeline, now);
  // A grant that arrives when its own signal would have aborted is handed back, never announced (law 7).
  if (state === "ending" || state === "lost") return handBack(machine, open, campaign, hold, "late", now, effects);
  if (hasRegressed(campaign, hold)) {
    const token = hold.token?.value;
    const message = `"${campaign.name}": ${settings.guarantee.store} granted token ${token}, but ${greatestIn(campaign.greatest, hold.token?.domain ?? "")} was seen before: the store has forgotten. The grant was given back; look for a restore, a failover without the last writes, or a deleted counter.`;
    emitError(effects, "grant", new ConclaveError("TOKEN_REGRESSED", message), campaign.name);
    return handBack(machine, open, campaign, hold, "regressed", now, effects);
  }
  if (hold.token !== undefined) campaign.greatest = noted(campaign.greatest, hold.token);
  const claimedAt = campaign.stage.pursuit.firstSentAt ?? open.lifeline.provenAt;
  campaign.askedBy = open.keepsSent;
  campaign.lostRaces = 0;
  const carriedFrom = carry(machine, open, hold, effects);
  const term = { hold, opened: open.opened, claimedAt, carriedFrom, lifeline, electedAt: now.mono };
  enter(campaign, { kind: "leading", term });
  if (lifeline !== open.lifeline) machine.recordsDueAt = firstOf(machine.recordsDueAt, nextChange(lifeline));
  machine.tenureDueAt = Math.min(machine.tenureDueAt, tenureEndsAt(machine, campaign));
  strike(machine.agenda, campaign);
  if (open.hearsay && open.errand === 0) open.renewAt = Math.min(open.renewAt, nextProofAt(open, now));
  if (!campaign.brief) watchOwn(machine, open, hold, effects);
  emit(effects, {
    type: "elected",
    election: campaign.name,
    bid: hold.bid,
    token: hold.token,
    ttlMs: open.session.ttlMs,
    remainingMs: remainingMs(lifeline.deadline, now),
  });
}

/** From which keep on the hold is carried: the next one. A renewal thread is told at once, and the keeps that it sends in place of the machine's have that number. */
function carry(machine: Machine, open: Open, hold: Hold, effects: Effect[]): number {
  if (machine.settings.renewal !== "thread") return open.keepsSent + 1;
  const keep = ++open.keepsSent;
  effects.push({ type: "carry", opened: open.opened, keep, hold });
  return keep;
}

/** When the term has been led for `maxTenureMs` (tenure.ts); Infinity: never, or it is not led. */
export function tenureEndsAt({ settings }: Machine, campaign: Campaign): number {
  return isIn(campaign, "leading") && !campaign.brief ? campaign.stage.term.electedAt + settings.maxTenureMs : Infinity;
}

/** Watches the own seat, so that a deletion is noticed before the next keep. */
export function watchOwn(machine: Machine, open: Open, { name, bid }: Hold, effects: Effect[]): void {
  const { shape, wakes } = machine.settings.guarantee;
  // Such a store sends hints only to the few that wait: a holder must not take the place of one of them.
  if (wakes === "poll") return void effects.push({ type: "unwatch", name });
  effects.push({ type: "watch", question: shape === "race" ? { name } : { name, bid, session: open.session } });
}

/**
 * If one keep extends all holds, this is the session's lifeline. If each record is renewed by itself, it is one dated at the FIRST send of this claim. A record ends
 * with its session, so it is never dated later than the session's last proven keep: its drain must fit in before either ends.
 */
function lifelineOf(machine: Machine, open: Open, stage: StandingStage): Lifeline {
  const { firstSentAt } = stage.pursuit;
  if (machine.settings.guarantee.keep === "one-request" || firstSentAt === undefined) return open.lifeline;
  return createLifeline(earlierOf(firstSentAt, open.lifeline.provenAt), open.session.ttlMs, open.pace, open.bounds);
}

/** Tokens of different domains do not compare (law 10), so this looks at tokens of its own domain alone. */
function hasRegressed(campaign: Campaign, { token }: Hold): boolean {
  const greatest = token && greatestIn(campaign.greatest, token.domain);
  return token !== undefined && greatest !== undefined && token.value <= greatest;
}

function handBack(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  hold: Hold,
  why: "late" | "regressed",
  now: Reading,
  effects: Effect[],
): void {
  emit(effects, { type: "handed-back", election: campaign.name, why });
  leaveBehind(open, hold, now);
  campaign.stage.notBefore = now.mono + coolDownAfterMs(machine, 0);
  restartPursuit(machine, campaign, now);
}

// ---- ending and settling -------------------------------------------------------------------------------------------------------------

export function becomeEnding(campaign: CampaignIn<LeadingStage>, reason: LossReason, effects: Effect[]): void {
  enter(campaign, { kind: "ending", term: campaign.stage.term, reason });
  emit(effects, { type: "state", election: campaign.name, state: "ending", reason });
}

/** The deadline has passed, or the store has said that the term is over: signal and loss come at once (law 5). Not held from here on. */
export function becomeLost(
  machine: Machine,
  campaign: CampaignIn<LeadingStage | EndingStage>,
  reason: LossReason,
  now: Reading,
  effects: Effect[],
): void {
  const { term } = campaign.stage;
  if (isIn(campaign, "leading")) becomeEnding(campaign, reason, effects);
  enter(campaign, { kind: "settling", term, reason, awaits: "work", since: now.mono });
  emit(effects, { type: "lost", election: campaign.name, reason });
  endMemos(machine, campaign.name, reason, effects);
  // At a deadline the work has had its drain, or the loop was blocked and the deadline must not wait for it; where the store ended the term
  // at once, the work gets its drain now before that is called overstaying.
  const grace = reason === "expired" || reason === "suspended" || reason === "stalled" ? 0 : machine.settings.drainMs;
  schedule(machine.agenda, campaign, now.mono + grace);
}

/** The work has settled while the term was held: now, and only now, the store is told. */
function becomeReleasing(machine: Machine, open: Open, campaign: CampaignIn<EndingStage>, now: Reading): void {
  const { term, reason } = campaign.stage;
  enter(campaign, { kind: "settling", term, reason, awaits: "release", since: now.mono });
  strike(machine.agenda, campaign);
  leaveBehind(open, term.hold, now);
}

/** The work of the present term has ended. */
export function settle(machine: Machine, campaign: Campaign, now: Reading, effects: Effect[]): void {
  if (isIn(campaign, "leading")) becomeEnding(campaign, "resigned", effects);
  if (isIn(campaign, "ending")) {
    const { session } = machine;
    emit(effects, { type: "settled", election: campaign.name, reason: campaign.stage.reason });
    endMemos(machine, campaign.name, campaign.stage.reason, effects);
    if (session.kind === "open" && session.opened === campaign.stage.term.opened)
      return becomeReleasing(machine, session, campaign, now);
    return finish(machine, campaign, now, effects);
  }
  if (isIn(campaign, "settling") && campaign.stage.awaits === "work") {
    emit(effects, { type: "settled", election: campaign.name, reason: campaign.stage.reason });
    noteSettled(machine, campaign.stage.term.opened);
    finish(machine, campaign, now, effects);
  }
}

/** The store has been told, or could not be: the term is over either way, and a release without an answer is sent again. */
export function released(
  machine: Machine,
  campaign: CampaignIn<SettlingStage>,
  outcome: "released" | "unknown",
  now: Reading,
  effects: Effect[],
): void {
  emit(effects, { type: "released", election: campaign.name, outcome });
  finish(machine, campaign, now, effects);
}

/** A lost term whose work has not settled in time. Reported once. */
export function overstay(campaign: CampaignIn<SettlingStage>, now: Reading, effects: Effect[]): void {
  const { since, term } = campaign.stage;
  const byMs = now.mono - Math.min(since, term.lifeline.deadline.mono);
  emit(effects, { type: "overstayed", election: campaign.name, byMs });
}

/** A call rejects only before the first successful exchange (law 9): the store has never answered for this name, and refuses what trying again cannot help. */
export function failCampaign(machine: Machine, campaign: Campaign, error: ConclaveError, effects: Effect[]): void {
  strike(machine.agenda, campaign);
  machine.campaigns.delete(campaign.name);
  effects.push({ type: "unwatch", name: campaign.name }, { type: "free", name: campaign.name, error });
}

function finish(machine: Machine, campaign: Campaign, now: Reading, effects: Effect[]): void {
  if (campaign.wanted && machine.closing === "no") {
    const short =
      campaign.stage.kind === "settling" && now.mono - campaign.stage.term.electedAt < machine.settings.ttlMs;
    campaign.shortTerms = short ? campaign.shortTerms + 1 : 0;
    const pauseMs = Math.max(coolDownAfterMs(machine, campaign.shortTerms), makesWay(campaign) ? yieldMs(machine) : 0);
    becomeStanding(machine, campaign, now.mono + pauseMs, effects);
    return;
  }
  strike(machine.agenda, campaign);
  machine.campaigns.delete(campaign.name);
  effects.push({ type: "unwatch", name: campaign.name }, { type: "free", name: campaign.name });
}

const MADE_WAY: ReadonlySet<LossReason> = new Set<LossReason>(["asked", "tenure", "outranked"]);

/** The term was given up so that another candidate gets its turn. */
function makesWay({ stage }: Campaign): boolean {
  return stage.kind === "settling" && MADE_WAY.has(stage.reason);
}

// ---- what others show ----------------------------------------------------------------------------------------------------------------

/** Remembers the greatest token of another attempt, and reports a change of leader. */
export function noteSeat(campaign: CampaignIn<StandingStage>, seat: Seat, effects: Effect[]): void {
  const { holder } = seat;
  const mine = holder?.bid !== undefined && holder.bid === campaign.stage.pursuit.bid;
  // Without its domain a token cannot be compared with any other.
  if (holder?.token !== undefined && holder.domain !== undefined && !mine)
    campaign.greatest = noted(campaign.greatest, { domain: holder.domain, value: holder.token });
  const leader = holder?.bid ?? holder?.candidate;
  if (leader === campaign.reported) return;
  campaign.reported = leader;
  emit(effects, { type: "leader", election: campaign.name, leader: holder });
}
