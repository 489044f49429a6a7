// The lease machine: everything a candidate decides, and nothing it does. `(machine, input, now) → effects`: a step changes the machine in
// place and appends what is to be done. No clock, no randomness of its own, no I/O: the same machine, inputs and readings give the same effects.
//
// The host's duties:
//   - call `step` with a reading of both clock hands taken at that moment; readings never go back;
//   - carry out every `call` effect and answer it exactly once: with the store's answer, or `unknown` when `timeoutMs` have passed or it threw;
//   - send a `tick` no later than `nextWake` says, as soon as timers allow; being late costs availability, never exclusion;
//   - before trusting a term, ask `isHeld` with a fresh reading;
//   - say `settle` when, and only when, the work of a term has ended.
//
// Cut: deadline (arithmetic) · lifeline · session (keeps) · campaign (one name) · race and line (how to win) · expiry (what passes by itself) ·
// answers (what the store said) · announcements · memos · this file (inputs, and what is due).
import { earliest, schedule, takeDue } from "../base/agenda.ts";
import { unreachable } from "../base/assert.ts";
import type { Reading } from "../base/clock.ts";
import { ConclaveError, type LossReason } from "../base/errors.ts";
import { createRng, nextFraction } from "../base/rng.ts";
import { handleAnnounce } from "./announcements.ts";
import { handleAnswer, handleRepeated } from "./answers.ts";
import { retryAfterMs } from "./backoff.ts";
import { learnBeats, leave, nextBid } from "./beats.ts";
import {
  becomeEnding,
  type CampaignIn,
  createCampaign,
  hasten,
  heldTerm,
  isHeldAt,
  isIn,
  overstay,
  settle,
  withdraw,
} from "./campaign.ts";
import { hasCredit } from "./credit.ts";
import { createCrowd, hasRoom, park, requestsOf } from "./crowd.ts";
import { NEVER, remainingMs } from "./deadline.ts";
import type { TermState } from "./events.ts";
import type { Bid, Claim, Hint, Name, Question } from "./exchange.ts";
import { expire, nextExpiry } from "./expiry.ts";
import { hearInvitation, holdsBack } from "./invited.ts";
import { endLapsed, nextLapsedAt } from "./lapsed.ts";
import { nextLineMove } from "./line.ts";
import { stateOf } from "./lifeline.ts";
import { resendMemos } from "./memo-book.ts";
import { handleMemo } from "./memos.ts";
import { hearWithAll, nextOver, nextRaceMove } from "./race.ts";
import { doubtHold, rotaOf } from "./rota.ts";
import { send } from "./report.ts";
import { leftoversDueAt, sendLeftovers } from "./leftovers.ts";
import { askRenewal, openSession, sendFarewell, sendKeep } from "./session.ts";
import type { Settings } from "./settings.ts";
import type { Campaign, Effect, Input, Machine, Open, Pursuit, StandingStage } from "./state.ts";

export function createMachine(settings: Settings, nonce: string, seed: number): Machine {
  const rng = createRng(seed);
  return {
    settings,
    nonce,
    branch: "",
    rng,
    pollPhase: nextFraction(rng),
    session: { kind: "none", opened: 0 },
    lapsed: [],
    campaigns: new Map(),
    campaignsMade: 0,
    noneStands: true,
    agenda: [],
    memos: new Map(),
    memosDueAt: Infinity,
    recordsDueAt: NEVER,
    tenureDueAt: Infinity,
    errands: new Map(),
    errandsSent: 0,
    crowd: createCrowd(),
    bidsMade: 0,
    reached: false,
    barren: 0,
    openAt: -Infinity,
    closing: "no",
  };
}

export function step(machine: Machine, input: Input, now: Reading, effects: Effect[]): void {
  expire(machine, now, effects);
  switch (input.type) {
    case "tick":
      return act(machine, now, effects);
    case "answer":
      return handleAnswer(machine, input.errand, input.answer, now, effects);
    case "repeated":
      return handleRepeated(machine, input, now, effects);
    case "beat":
      return noteBeat(machine, input);
    case "stalled":
      return noteStall(machine, input.opened);
    case "hint":
      return handleHint(machine, input.hint, now, effects);
    case "stand":
      return handleStand(machine, input, now, effects);
    case "withdraw":
    case "settle":
    case "resign":
      return handleUser(machine, input, now, effects);
    case "renew":
      return machine.session.kind === "open" ? askRenewal(machine.session, now) : undefined;
    case "announce":
      return handleAnnounce(machine, input, effects);
    case "memo":
      return handleMemo(machine, input, effects);
    case "close":
      return handleClose(machine, now, effects);
    default:
      return unreachable(input);
  }
}

/** The monotonic instant of the next tick; Infinity while nothing but an answer, a hint or the user can change anything. */
export function nextWake(machine: Machine, now: Reading): number {
  const { session } = machine;
  if (machine.closing === "yes" && machine.campaigns.size === 0) return now.mono;
  const next = Math.min(earliest(machine.agenda), nextExpiry(machine, now), nextLapsedAt(machine), machine.memosDueAt);
  if (session.kind === "opening") return Math.min(next, session.retryAt);
  if (session.kind === "none")
    return machine.campaigns.size > 0 && needsSession(machine)
      ? Math.min(Math.max(next, now.mono), Math.max(now.mono, machine.openAt))
      : next;
  const renewAt = session.errand === 0 && machine.campaigns.size > 0 ? session.renewAt : Infinity;
  return Math.min(next, renewAt, leftoversDueAt(machine, session));
}

export { isBehindClock } from "./expiry.ts";

// ---- questions, answered by the clock ------------------------------------------------------------------------------------------------

/** Held is computed, not remembered (law 3): is the term of `bid` held at `now`? */
export function isHeld(machine: Machine, name: Name, bid: Bid, now: Reading): boolean {
  const campaign = machine.campaigns.get(name);
  return campaign !== undefined && heldTerm(campaign)?.hold.bid === bid && isHeldAt(campaign, now);
}

export function termState(machine: Machine, name: Name, bid: Bid, now: Reading): TermState {
  const campaign = machine.campaigns.get(name);
  const term = campaign && heldTerm(campaign);
  if (campaign === undefined || term === undefined || term.hold.bid !== bid) return "lost";
  const state = stateOf(term.lifeline, now);
  return isIn(campaign, "ending") && state !== "lost" ? "ending" : state;
}

/** Why the term of `bid` ends or has ended, as far as the machine still knows it. */
export function lossOf(machine: Machine, name: Name, bid: Bid): LossReason | undefined {
  const stage = machine.campaigns.get(name)?.stage;
  return (stage?.kind === "ending" || stage?.kind === "settling") && stage.term.hold.bid === bid
    ? stage.reason
    : undefined;
}

/** Milliseconds of certainty left. */
export function termRemainingMs(machine: Machine, name: Name, bid: Bid, now: Reading): number {
  const campaign = machine.campaigns.get(name);
  const term = campaign && heldTerm(campaign);
  return term === undefined || term.hold.bid !== bid ? 0 : remainingMs(term.lifeline.deadline, now);
}

type InputOf<T extends Input["type"]> = Extract<Input, { type: T }>;

// ---- inputs --------------------------------------------------------------------------------------------------------------------------

type Told = InputOf<"withdraw" | "settle" | "resign">;

function handleUser(machine: Machine, { type, name }: Told, now: Reading, effects: Effect[]): void {
  const campaign = machine.campaigns.get(name);
  if (campaign === undefined) return;
  if (type === "withdraw") withdraw(machine, campaign, now, effects);
  else if (type === "settle") settle(machine, campaign, now, effects);
  else if (isIn(campaign, "leading")) becomeEnding(campaign, "resigned", effects);
}

function handleStand(machine: Machine, input: InputOf<"stand">, now: Reading, effects: Effect[]): void {
  if (machine.closing !== "no") return;
  const { name, value, brief = false } = input;
  const campaign = machine.campaigns.get(name);
  if (campaign === undefined) {
    if (machine.campaigns.size >= machine.settings.guarantee.holdsPerSession) return refuseFull(machine, name, effects);
    return void createCampaign(machine, name, value, brief, now, effects);
  }
  campaign.wanted = true;
  campaign.value = value;
  campaign.brief = brief;
}

/** The terms of one candidate share one session (law 15): the store says how many one session may hold. */
function refuseFull(machine: Machine, name: Name, effects: Effect[]): void {
  const { store, holdsPerSession } = machine.settings.guarantee;
  const message = `"${name}": this candidate stands for ${holdsPerSession} names, which is what ${store} allows for one session. Make another candidate for more.`;
  effects.push({ type: "free", name, error: new ConclaveError("STORE_FULL", message) });
}

/** A hint proves nothing. It makes a waiting candidate look or claim, and a leading one whose seat shows another, or that was asked to leave, ask by a keep. */
function handleHint(machine: Machine, hint: Hint, now: Reading, effects: Effect[]): void {
  const campaign = machine.campaigns.get(hint.name);
  if (campaign === undefined || hint.memo !== undefined) return;
  if (hint.invited !== undefined) return hearInvitation(machine, campaign, hint.invited, now, effects);
  if (isIn(campaign, "standing")) return hearOfSeat(machine, campaign, hint, now, effects);
  const term = heldTerm(campaign);
  const { session } = machine;
  const holder = hint.seat?.holder;
  const mine =
    holder?.bid === undefined ? holder?.candidate === machine.settings.candidate : holder.bid === term?.hold.bid;
  const other = hint.seat !== undefined && !mine;
  if (!(other || hint.asked === true) || term === undefined || session.kind !== "open") return;
  doubtHold(campaign);
  askRenewal(session, now);
}

function hearOfSeat(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  { seat }: Hint,
  now: Reading,
  effects: Effect[],
): void {
  const { pursuit } = campaign.stage;
  if (pursuit.shape === "race" && seat !== undefined && machine.settings.guarantee.wakesAll === true)
    return hearWithAll(machine, campaign, pursuit, seat, now, effects);
  const isFirst = seat?.place?.present === true && seat.place.ahead === 0;
  if (pursuit.shape === "race") pursuit.hopeful ||= seat?.state === "vacant";
  if (pursuit.errand !== 0) {
    pursuit.hinted ||= isFirst || seat?.state !== "held";
    return;
  }
  if (pursuit.shape === "line") pursuit.first ||= isFirst;
  if (pursuit.failures > 0) return; // the pause before the next try stays
  hasten(machine, campaign, now);
}

function noteBeat({ session }: Machine, { opened, beat }: InputOf<"beat">): void {
  if (session.kind !== "open" || session.opened !== opened) return;
  // The thread repeats only while nothing is in flight there: an order that is still to be answered will be sent after this.
  if (session.errand === 0) leave(session, beat);
  else learnBeats(session, [beat]);
}

/** For the reason only: keeps that the thread does not send cannot be proven. */
function noteStall({ session }: Machine, opened: number): void {
  if (session.kind === "open" && session.opened === opened) session.stalled = true;
}

function handleClose(machine: Machine, now: Reading, effects: Effect[]): void {
  if (machine.closing !== "no") return;
  machine.closing = "yes";
  for (const campaign of machine.campaigns.values()) withdraw(machine, campaign, now, effects);
}

// ---- what is due ---------------------------------------------------------------------------------------------------------------------

function act(machine: Machine, now: Reading, effects: Effect[]): void {
  const { session } = machine;
  endLapsed(machine, now, effects);
  if (session.kind === "opening" && session.errand === 0 && now.mono >= session.retryAt)
    openSession(machine, now, effects);
  if (session.kind === "none" && now.mono >= machine.openAt && needsSession(machine))
    openSession(machine, now, effects);
  renewIfDue(machine, now, effects);
  if (session.kind === "open" && now.mono >= leftoversDueAt(machine, session)) sendLeftovers(machine, session, effects);
  resendMemos(machine, now, effects);
  actOnAgenda(machine, now, effects);
  renewIfDue(machine, now, effects); // a claim may have asked for it
  if (machine.closing === "yes" && machine.campaigns.size === 0) conclude(machine, effects);
}

function renewIfDue(machine: Machine, now: Reading, effects: Effect[]): void {
  const { session } = machine;
  if (session.kind === "open" && session.errand === 0 && now.mono >= session.renewAt && machine.campaigns.size > 0)
    sendKeep(machine, session, rotaOf, now, effects);
}

/** Many thousand terms that are lost together settle one by one, without a session. All campaigns are then looked at once, not once for each term. */
function needsSession(machine: Machine): boolean {
  if (machine.noneStands) return false;
  for (const campaign of machine.campaigns.values()) if (isIn(campaign, "standing")) return true;
  machine.noneStands = true;
  return false;
}

/** All due campaigns at once: one batch of claims, one batch of looks. */
function actOnAgenda(machine: Machine, now: Reading, effects: Effect[]): void {
  if (earliest(machine.agenda) > now.mono) return;
  const claims: Claim[] = [];
  const questions: Question[] = [];
  for (
    let campaign = takeDue(machine.agenda, now.mono);
    campaign !== undefined;
    campaign = takeDue(machine.agenda, now.mono)
  ) {
    if (isIn(campaign, "settling")) overstay(campaign, now, effects);
    if (isIn(campaign, "standing")) pursue(machine, campaign, now, claims, questions);
  }
  const { session } = machine;
  if (session.kind === "open")
    for (const some of requestsOf(machine, claims)) sendClaims(machine, session, some, now, effects);
  if (questions.length > 0) {
    const names = questions.map(({ name }) => name);
    const errand = send(
      machine,
      { kind: "look", names },
      machine.settings.pace.requestTimeoutMs,
      { method: "look", questions },
      effects,
    );
    for (const name of names) markSent(machine, name, errand);
  }
}

function sendClaims(machine: Machine, open: Open, claims: readonly Claim[], now: Reading, effects: Effect[]): void {
  const bids = claims.map(({ name, bid }) => ({ name, bid }));
  const patienceMs = open.pace.requestTimeoutMs;
  const errand = send(
    machine,
    { kind: "claim", opened: open.opened, bids, sentAt: now, patienceMs, heard: open.heard },
    patienceMs,
    { method: "claim", claims },
    effects,
  );
  machine.crowd.underWay += bids.length;
  for (const { name } of claims) markSent(machine, name, errand);
}

function markSent(machine: Machine, name: Name, errand: number): void {
  const campaign = machine.campaigns.get(name);
  if (campaign !== undefined && isIn(campaign, "standing")) campaign.stage.pursuit.errand = errand;
}

function pursue(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  now: Reading,
  claims: Claim[],
  questions: Question[],
): void {
  const { pursuit, afterKeep } = campaign.stage;
  const { session } = machine;
  if (pursuit.errand !== 0) return;
  if (session.kind !== "open") return; // answers.ts puts it back on the agenda when a session is there
  const canWin = session.keepProven >= afterKeep && hasTimeToWin(session, now);
  const move = pursuit.shape === "race" ? nextRaceMove(pursuit, canWin, now) : nextLineMove(pursuit);
  if (move === "look") {
    questions.push(
      pursuit.shape === "race"
        ? { name: campaign.name }
        : { name: campaign.name, bid: pursuit.bid, session: session.session },
    );
    return;
  }
  if (holdsBack(machine, campaign, now)) return;
  // A claim granted now could not be announced, or (with manual renewal) proves nothing in this invocation. So a keep comes first, or a claim that confirms the last keep.
  pursuit.onCredit = !canWin && hasCredit(machine, session, pursuit, now);
  pursuit.awaitsProof = !canWin && !pursuit.onCredit;
  if (pursuit.awaitsProof) {
    if (session.errand === 0) askRenewal(session, now);
    schedule(machine.agenda, campaign, now.mono + retryAfterMs(machine, session.failures));
    return;
  }
  if (!hasRoom(machine, claims.length)) return park(machine, campaign);
  claims.push(claimOf(machine, session, campaign, pursuit, now));
}

function hasTimeToWin(open: Open, now: Reading): boolean {
  const state = stateOf(open.lifeline, now);
  // The store only said that the session lives, so the last proof may be old: a term that is won needs the time for another proof.
  return state === "safe" || (state === "jeopardy" && !open.hearsay);
}

/** A claim without an answer is sent again as the same attempt, dated at its first send (law 7); otherwise this is a new attempt. */
function claimOf(machine: Machine, open: Open, campaign: Campaign, pursuit: Pursuit, now: Reading): Claim {
  if (pursuit.bid === undefined) {
    pursuit.bid = nextBid(machine);
    pursuit.firstSentAt = now;
    if (pursuit.shape === "race") pursuit.over = nextOver(pursuit);
  }
  const { session } = open;
  const { name, value } = campaign;
  const { bid } = pursuit;
  if (pursuit.shape === "race") return { session, name, bid, value, over: pursuit.over };
  if (pursuit.place === undefined) return { session, name, bid, value };
  if (!pursuit.onCredit) return { session, name, bid, value, stands: true };
  return { session, name, bid, value, stands: true, witness: open.heard?.witness };
}

/** Everything has settled: end the session at the store, and be done. */
function conclude(machine: Machine, effects: Effect[]): void {
  machine.closing = "ended";
  if (machine.session.kind === "open") {
    machine.session.failures = 0;
    sendFarewell(machine, machine.session, true, effects);
    return;
  }
  // An opening that is under way is not tried again. If the store has granted it, that session holds nothing and runs out by itself.
  machine.session = { kind: "none", opened: machine.session.opened };
  effects.push({ type: "closed" });
}
