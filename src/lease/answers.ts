// Takes the store's answers to the sessions and campaigns that asked. Every outcome has three values: an answer, a refusal (definitely not applied), or unknown.
// An answer meant for an earlier session, or for an attempt that was given up, extends nothing and announces nothing: what it may have left at
// the store is given back.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import type { ConclaveError } from "../base/errors.ts";
import type { Refused, Unknown } from "../base/outcome.ts";
import { obeyAll } from "./asked.ts";
import { handleAnnounced } from "./announcements.ts";
import { retryAfterMs } from "./backoff.ts";
import { hearBeat, passBid } from "./beats.ts";
import {
  becomeLost,
  failCampaign,
  type CampaignIn,
  hastenOpened,
  hastenProven,
  heldTerm,
  isIn,
  released,
  restartPursuit,
} from "./campaign.ts";
import { handleGranted } from "./credit.ts";
import { makeRoom, noteAnswered } from "./crowd.ts";
import type { Claimed, Hold, Kept, Looked, Name, Released } from "./exchange.ts";
import { AT_ONCE, earlierOf } from "./deadline.ts";
import { endSession, expire } from "./expiry.ts";
import { plead } from "./invited.ts";
import { extend } from "./lifeline.ts";
import { handleLapsed, hastenLapsed } from "./lapsed.ts";
import { handleLineSeat, handleWaiting } from "./line.ts";
import { handleMemoAnswer } from "./memos.ts";
import { handleBeaten, handleRaceSeat } from "./race.ts";
import { noteRound, watchNewlyCarried } from "./rota.ts";
import { emit, emitError, errorOf, isFatal } from "./report.ts";
import { leaveBehind, settleLeftover } from "./leftovers.ts";
import { countBarren, disprove, doubt, establish, hearSay, noteSearch, prove, sendFarewell } from "./session.ts";
import type { Answer, Effect, Errand, Heard, Machine, Open, Opening, StandingStage } from "./state.ts";

type ErrandOf<K extends Errand["kind"]> = Extract<Errand, { kind: K }>;

export function handleAnswer(machine: Machine, id: number, answer: Answer, now: Reading, effects: Effect[]): void {
  const errand = machine.errands.get(id);
  if (errand === undefined) return;
  machine.errands.delete(id);
  const reached = machine.reached;
  if (answer.kind !== "unknown" && answer.kind !== "refused") machine.reached = true;
  switch (errand.kind) {
    case "keep":
      handleKept(machine, errand, answer as Kept, reached, now, effects);
      return makeRoom(machine, now);
    case "claim":
      handleClaims(machine, errand, answer, now, effects);
      noteAnswered(machine, errand, now);
      return makeRoom(machine, now);
    case "announce":
      return handleAnnounced(machine, errand, answer, now, effects);
    case "memo":
      return handleMemoAnswer(machine, id, errand, answer, now, effects);
    case "release":
      return handleReleased(machine, errand, answer as Released, now, effects);
    case "look":
      return handleLooked(machine, id, errand, answer as Looked, now, effects);
    case "word":
      return;
  }
}

// ---- keep ----------------------------------------------------------------------------------------------------------------------------

function handleKept(
  machine: Machine,
  errand: ErrandOf<"keep">,
  kept: Kept,
  reached: boolean,
  now: Reading,
  effects: Effect[],
): void {
  const { session } = machine;
  if (session.kind === "none" || session.opened !== errand.opened) return;
  session.errand = 0;
  if (session.kind === "opening") return handleOpened(machine, session, kept, reached, now, effects);
  hearKept(machine, session, errand, hearBeat(session, errand, kept), now, effects);
}

type Sent = Pick<ErrandOf<"keep">, "keep" | "sentAt" | "looked" | "carried" | "beat">;

function hearKept(machine: Machine, open: Open, sent: Sent, kept: Kept, now: Reading, effects: Effect[]): void {
  const { keep, sentAt } = sent;
  if (kept.kind === "session-lost") return endSession(machine, open, "session-lost", now, effects);
  if (kept.kind !== "kept") return disprove(machine, open, keep, kept, now, effects);
  if (kept.proves === false) hearSay(machine, open, keep, sentAt, kept.witness, now);
  else if (noteRound(machine, open, sent, kept.lost.length, now)) {
    const proven = prove(machine, open, keep, sentAt, kept.road, now, effects);
    if (proven !== undefined && machine.settings.guarantee.keep === "per-hold")
      extendRecords(machine, open, keep, proven, kept.unsure);
    if (proven !== undefined) hastenProven(machine, now);
    watchNewlyCarried(machine, open, keep, effects);
  }
  if (sent.looked !== false) noteSearch(open, keep, kept.strays.length);
  for (const hold of kept.lost) loseHold(machine, keep, hold, now, effects);
  for (const hold of kept.strays) giveBackStray(machine, open, hold, now);
  obeyAll(machine, kept.asked, effects);
  expire(machine, now, effects);
}

/** A keep that the renewal thread has sent in this machine's place. It counts as the machine's own, but answers no request that is in flight. */
export function handleRepeated(
  machine: Machine,
  repeat: Sent & { readonly opened: number; readonly kept: Kept },
  now: Reading,
  effects: Effect[],
): void {
  const { session } = machine;
  if (session.kind !== "open" || session.opened !== repeat.opened) return;
  hearKept(machine, session, repeat, hearBeat(session, repeat, repeat.kept), now, effects);
}

function handleOpened(
  machine: Machine,
  opening: Opening,
  kept: Kept,
  reached: boolean,
  now: Reading,
  effects: Effect[],
): void {
  if (kept.kind === "session-lost") {
    // The opening was applied and has run out since: that nonce is spent.
    machine.session = { kind: "none", opened: opening.opened };
    return countBarren(machine, false, now);
  }
  const failure = kept.kind === "kept" ? establish(machine, opening, kept, now, effects) : kept;
  // A grant that cannot be used is no success: before the first successful exchange it ends everything, as a refusal does (law 9).
  if (failure !== undefined) {
    machine.reached = reached;
    return failOpening(machine, opening, failure, now, effects);
  }
  hastenLapsed(machine, now);
  hastenOpened(machine, now);
}

function failOpening(
  machine: Machine,
  opening: Opening,
  failure: Unknown | Refused,
  now: Reading,
  effects: Effect[],
): void {
  const error = errorOf("opening a session", failure, machine);
  emitError(effects, "open", error);
  if (isFatal(machine, failure)) return failAll(machine, error, effects);
  opening.failures++;
  opening.retryAt = now.mono + retryAfterMs(machine, opening.failures);
}

/** A call rejects only before the first success (law 9): the store has refused for good, and nothing has ever succeeded. No campaign stands any more; the calls that wait are told. */
function failAll(machine: Machine, error: ConclaveError, effects: Effect[]): void {
  machine.session = { kind: "none", opened: machine.session.opened };
  machine.campaigns.clear();
  for (const campaign of machine.agenda.splice(0)) campaign.place = -1;
  effects.push({ type: "failed", error });
}

// For stores that renew record by record: extends each hold that this keep carried and proved. For the others it proves only that the session lives. So where an older proof
// of the session held their date back (campaign.ts, `lifelineOf`), that date moves on to their own.
function extendRecords(machine: Machine, open: Open, keep: number, proven: Reading, unsure: readonly Hold[]): void {
  machine.recordsDueAt = AT_ONCE;
  const not = new Set(unsure.map(({ bid }) => bid));
  for (const campaign of machine.campaigns.values()) {
    const term = heldTerm(campaign);
    if (term === undefined || term.lifeline === open.lifeline) continue;
    const isRenewed = term.carriedFrom <= keep && !not.has(term.hold.bid);
    extend(
      term.lifeline,
      isRenewed ? proven : earlierOf(term.claimedAt, proven),
      open.session.ttlMs,
      open.pace,
      open.bounds,
    );
  }
}

/** The store no longer has this hold. A keep that left before the hold was won says nothing about it. */
function loseHold(machine: Machine, keep: number, hold: Hold, now: Reading, effects: Effect[]): void {
  const campaign = machine.campaigns.get(hold.name);
  if (campaign === undefined) return;
  if (isIn(campaign, "standing")) {
    const { pursuit } = campaign.stage;
    if (pursuit.shape === "line" && pursuit.place?.bid === hold.bid && pursuit.errand === 0)
      restartPursuit(machine, campaign, now);
    return;
  }
  const term = heldTerm(campaign);
  if (term === undefined || term.hold.bid !== hold.bid || term.carriedFrom > keep) return;
  if (isIn(campaign, "leading") || isIn(campaign, "ending")) becomeLost(machine, campaign, "superseded", now, effects);
}

/** An entry of this session that no keep carried: a claim that was given up and committed later. */
// A name is not given back while it is pursued or held, nor before its work has settled (law 8): the next keep will show it again.
function giveBackStray(machine: Machine, open: Open, stray: Hold, now: Reading): void {
  const stage = machine.campaigns.get(stray.name)?.stage;
  const current = stage?.kind === "standing" ? stage.pursuit.bid : stage?.term.hold.bid;
  if (current === stray.bid) return;
  passBid(machine, stray.bid);
  leaveBehind(open, stray, now);
}

// ---- claim ---------------------------------------------------------------------------------------------------------------------------

function handleClaims(
  machine: Machine,
  errand: ErrandOf<"claim">,
  answer: Answer,
  now: Reading,
  effects: Effect[],
): void {
  errand.bids.forEach(({ name, bid }, index) => {
    const claimed = answer.kind === "claimed" ? answer.claimed[index] : (answer as Unknown | Refused);
    const { session } = machine;
    if (session.kind !== "open" || session.opened !== errand.opened) return;
    if (claimed === undefined || claimed.kind === "unknown") doubt(session);
    const campaign = machine.campaigns.get(name);
    if (campaign !== undefined && isIn(campaign, "standing") && campaign.stage.pursuit.bid === bid)
      return handleClaimed(machine, session, campaign, claimed ?? MISSING, errand.heard, now, effects);
    // The attempt was given up meanwhile: a grant is not wanted any more.
    if (claimed?.kind !== "granted" && claimed?.kind !== "waiting") return;
    emit(effects, { type: "handed-back", election: name, why: "unwanted" });
    leaveBehind(session, claimed.hold, now);
  });
}

const MISSING: Unknown = { kind: "unknown", cause: "the driver answered fewer claims than were sent" };

function handleClaimed(
  machine: Machine,
  open: Open,
  campaign: CampaignIn<StandingStage>,
  claimed: Claimed,
  heard: Heard | undefined,
  now: Reading,
  effects: Effect[],
): void {
  const { pursuit } = campaign.stage;
  pursuit.errand = 0;
  if (claimed.kind !== "unknown" && claimed.kind !== "refused") {
    pursuit.failures = 0;
    campaign.answered = true;
  }
  switch (claimed.kind) {
    case "granted":
      return handleGranted(machine, open, campaign, claimed, heard, now, effects);
    case "waiting":
      if (pursuit.shape === "line") handleWaiting(machine, open, campaign, pursuit, claimed.hold, now, effects);
      return;
    case "beaten":
      pursuit.bid = undefined;
      if (pursuit.shape === "race") handleBeaten(machine, campaign, pursuit, claimed.seat, now, effects);
      return;
    case "leftover":
      leaveBehind(open, { name: campaign.name, bid: claimed.bid }, now);
      restartPursuit(machine, campaign, now);
      schedule(machine.agenda, campaign, now.mono + retryAfterMs(machine, 0));
      return;
    case "session-lost":
      return endSession(machine, open, "session-lost", now, effects);
    case "unknown":
    case "refused":
      return failPursuit(machine, campaign, "a claim", claimed, now, effects);
  }
}

/** No answer, or a refusal: the same again after a pause. An attempt without an answer keeps its bid (law 7); a refused one was not applied. */
function failPursuit(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  what: string,
  failure: Unknown | Refused,
  now: Reading,
  effects: Effect[],
): void {
  const { pursuit } = campaign.stage;
  const error = errorOf(what, failure, machine);
  emitError(effects, what === "a look" ? "look" : "claim", error, campaign.name);
  if (failure.kind === "refused" && !failure.retryable && !campaign.answered)
    return failCampaign(machine, campaign, error, effects);
  pursuit.failures++;
  schedule(machine.agenda, campaign, now.mono + retryAfterMs(machine, pursuit.failures));
}

// ---- release -------------------------------------------------------------------------------------------------------------------------

function handleReleased(
  machine: Machine,
  errand: ErrandOf<"release">,
  answer: Released,
  now: Reading,
  effects: Effect[],
): void {
  const { session } = machine;
  const done = answer.kind === "released";
  if (!done) emitError(effects, "release", errorOf("a release", answer, machine));
  if (errand.last) return handleFarewell(machine, errand, done, effects);
  if (errand.holds.length === 0) return handleLapsed(machine, errand.opened, answer, now);
  if (session.kind !== "open" || session.opened !== errand.opened) return;
  session.releases--;
  if (!done) session.leftoversAt = now.mono + retryAfterMs(machine, 3);
  for (const hold of errand.holds) {
    settleLeftover(session, hold, done);
    const campaign = machine.campaigns.get(hold.name);
    if (
      campaign !== undefined &&
      isIn(campaign, "settling") &&
      campaign.stage.awaits === "release" &&
      campaign.stage.term.hold.bid === hold.bid
    )
      released(machine, campaign, done ? "released" : "unknown", now, effects);
  }
}

/** The session was ended, or could not be: the request is repeated while it can matter, then the session is left to run out. */
function handleFarewell(machine: Machine, errand: ErrandOf<"release">, done: boolean, effects: Effect[]): void {
  const { session } = machine;
  if (!done && session.kind === "open" && session.opened === errand.opened && session.failures++ < 1)
    return sendFarewell(machine, session, true, effects);
  if (session.kind === "open") emit(effects, { type: "session", state: "ended", session: session.session.id });
  machine.session = { kind: "none", opened: errand.opened };
  effects.push({ type: "closed" });
}

// ---- look ----------------------------------------------------------------------------------------------------------------------------

function handleLooked(
  machine: Machine,
  id: number,
  errand: ErrandOf<"look">,
  looked: Looked,
  now: Reading,
  effects: Effect[],
): void {
  errand.names.forEach((name: Name, index) => {
    const campaign = machine.campaigns.get(name);
    if (campaign === undefined || !isIn(campaign, "standing")) return;
    const { pursuit } = campaign.stage;
    if (pursuit.errand !== id) return;
    pursuit.errand = 0;
    if (looked.kind !== "seen") return failPursuit(machine, campaign, "a look", looked, now, effects);
    pursuit.failures = 0;
    campaign.answered = true;
    const seat = looked.seats[index];
    if (seat === undefined) return failPursuit(machine, campaign, "a look", MISSING, now, effects);
    if (pursuit.shape === "race") {
      handleRaceSeat(machine, campaign, pursuit, seat, now, effects);
      plead(machine, campaign, seat, now, effects);
    } else handleLineSeat(machine, campaign, pursuit, seat, now, effects);
  });
}
