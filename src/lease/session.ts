// The session: this candidate's standing at the store, extended by keeps. One failed session ends all its terms (law 15); that is done
// in expiry.ts. Here: when a keep is sent, how it is dated, and what its answer proves.
//
//   none     nothing is wanted of the store, or the last session is over
//   opening  the first keep has been sent; tries with one nonce are one opening, dated before the first
//   open     the store has granted an id and a ttl
//
// LAW 1, deadline from send. `sentAt` is read before the request leaves; an answer extends by that date, never by its own arrival.
// LAW 6, proof. Only `kept` extends, and only to the keep that it proves: this one, or, where the store relays touches (`previous-send`),
//   the last one answered before it. Looks, hints and refusals extend nothing; an unknown extends nothing; an answer later than
//   `proofWithinMs` proves nothing. A touch that is relayed leaves with the relay's next tick, on its own way: so of two keeps the later proves the earlier only if both
//   were answered by one road, and `proofApartMs` lie between their sends. LAW 4 holds for that wait, too: while the host sleeps the judge may stall, so both hands count.
import type { Reading } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { Refused } from "../base/outcome.ts";
import { retryAfterMs } from "./backoff.ts";
import { prefixOf } from "./beats.ts";
import { elapsedMs, isPast, remainingMs } from "./deadline.ts";
import type { KeepWish, Kept, Met } from "./exchange.ts";
import { type Bounds, createLifeline, extend } from "./lifeline.ts";
import { emit, emitError, errorOf, send } from "./report.ts";
import { paceOf, type Settings } from "./settings.ts";
import type { Carried, Effect, Machine, Open, Opening } from "./state.ts";

const LONGEST_RELEASE_MS = 2000;

/**
 * Of the ttl: how often a session is kept on which nothing hangs. Go's client keeps every third of it; ours looks for itself now and then besides (settings.ts,
 * `SAFETY_POLL_TTLS`), and together that is to be no more. A keep without an answer is followed by others before the ttl is over.
 */
const WAITING_RHYTHM = 0.4;
/** How often a keep looks for strays, whether anything is in doubt or not: one in so many. */
const STRAYS_EVERY = 32;
/** So many keeps in a row, sent after a doubt, must have found nothing: a request that was given up may be applied for as long as the network keeps it. */
const CLEAN_SEARCHES = 8;

/** Begins a session, or tries the same opening again. An opening that would end as soon as it is granted gives way to a new one, whose pauses go on as they were. */
export function openSession(machine: Machine, now: Reading, effects: Effect[]): void {
  const { settings, session } = machine;
  const opening: Opening =
    session.kind === "opening" && !isSpent(settings, session, now)
      ? session
      : {
          kind: "opening",
          opened: session.opened + 1,
          spec: {
            nonce: `${prefixOf(machine)}.s${session.opened + 1}`,
            candidate: settings.candidate,
            ttlMs: settings.ttlMs,
            beat: undefined,
            ...(settings.node === undefined ? {} : { node: settings.node }),
          },
          firstSentAt: now,
          errand: 0,
          retryAt: Infinity,
          failures: session.kind === "opening" ? session.failures : 0,
        };
  machine.session = opening;
  opening.retryAt = Infinity;
  const errand = { kind: "keep", opened: opening.opened, keep: 0, sentAt: opening.firstSentAt } as const;
  opening.errand = send(
    machine,
    errand,
    settings.pace.requestTimeoutMs,
    { method: "keep", session: opening.spec, holds: [] },
    effects,
  );
}

/**
 * A session is dated before the first try of its opening. After an outage that was longer than the ttl that date is past: the session would be lost at the moment at which it is granted. If a
 * try was applied at the store after all, its session holds nothing and runs out by itself.
 */
function isSpent(settings: Settings, { firstSentAt }: Opening, now: Reading): boolean {
  return isPast(createLifeline(firstSentAt, settings.ttlMs, settings.pace, settings).signalAt, now);
}

/** The store ended a session. A loss is not the end (law 9): the first time the next session is opened at once; then pauses grow, until a keep is proven. */
export function countBarren(machine: Machine, wasProven: boolean, now: Reading): void {
  machine.openAt = machine.barren === 0 ? now.mono : now.mono + retryAfterMs(machine, machine.barren);
  machine.barren = wasProven ? 0 : machine.barren + 1;
}

/**
 * The store has granted a session; by the ttl it granted, not the one asked for, and by what its server has shown of itself (`met`), not by what holds for any.
 * Refused if that leaves no room to renew.
 */
export function establish(
  machine: Machine,
  opening: Opening,
  { session, met, road }: Extract<Kept, { kind: "kept" }>,
  now: Reading,
  effects: Effect[],
): Refused | undefined {
  const { settings } = machine;
  const bounds = boundsOf(settings, met);
  const pace = paceOf(session.ttlMs, settings.drainMs, bounds.margins, settings.guarantee.keepProves);
  if (pace === undefined) {
    const store = met?.server ?? settings.guarantee.store;
    const message = `${store} granted a ttl of ${session.ttlMs} ms where ${settings.ttlMs} were asked for: too short for drainMs ${settings.drainMs}. Lower drainMs, or let the store grant more.`;
    return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
  }
  const lifeline = createLifeline(opening.firstSentAt, session.ttlMs, pace, bounds);
  machine.session = {
    kind: "open",
    opened: opening.opened,
    session: { beats: undefined, ...session, node: settings.node?.name ?? session.node },
    pace,
    bounds,
    proof: {
      withinMs: met?.proofWithinMs ?? settings.guarantee.proofWithinMs,
      apartMs: met?.proofApartMs ?? settings.guarantee.proofApartMs ?? 0,
    },
    lifeline,
    errand: 0,
    keepsSent: 0,
    keepProven: 0,
    answeredSentAt: opening.firstSentAt,
    answeredRoad: road,
    renewAt:
      settings.renewal === "manual" ? Infinity : Math.max(now.mono, opening.firstSentAt.mono + pace.renewEveryMs),
    renewalAsked: 0,
    failures: 0,
    stalled: false,
    hearsay: false,
    heard: undefined,
    missed: false,
    doubtedAt: -1,
    leftovers: [],
    leftoversAt: Infinity,
    releases: 0,
  };
  emit(effects, { type: "session", state: "opened", session: session.id, ...(met === undefined ? {} : { met }) });
  return undefined;
}

/**
 * The deadline (law 1) is shortened by the time that the judge may be early. A store that learns this time only from its server declares before what it can, and tells the rest with the opening: the
 * session's own number counts, for every deadline that is computed from one of its keeps.
 */
function boundsOf({ margins, drainMs }: Settings, met: Met | undefined): Bounds {
  const extraMarginMs = met?.extraMarginMs ?? margins.extraMarginMs;
  return { margins: { ...margins, extraMarginMs }, drainMs };
}

/** Asks for a keep now, beyond the rhythm. A keep that is in flight does not count, because it left before. */
export function askRenewal(open: Open, now: Reading): void {
  open.renewalAsked = open.keepsSent + 1;
  open.renewAt = now.mono;
}

/** Sends the next keep with what it is to carry (rota.ts). At most one is in flight. */
export function sendKeep(
  machine: Machine,
  open: Open,
  carriedBy: (machine: Machine, open: Open, looksForStrays: boolean) => Carried,
  now: Reading,
  effects: Effect[],
): void {
  const keep = ++open.keepsSent;
  const looked = looksForStrays(open, keep);
  const carried = carriedBy(machine, open, looked);
  const wish = wishOf(needsProof(machine, open), looked, carried.all);
  open.renewAt = Infinity;
  const errand = { kind: "keep", opened: open.opened, keep, sentAt: now, looked, carried } as const;
  open.errand = send(
    machine,
    errand,
    open.pace.requestTimeoutMs,
    { method: "keep", session: open.session, holds: carried.holds, ...(wish === undefined ? {} : { wish }) },
    effects,
  );
}

/** A claim may have left something behind: the next keeps look for it. */
export function doubt(open: Open): void {
  open.doubtedAt = open.keepsSent;
}

/** A proof is wanted while something is held, and where a keep was asked for beyond the rhythm. */
function needsProof(machine: Machine, open: Open): boolean {
  return hasTerms(machine) || open.renewalAsked > open.keepProven;
}

/**
 * Strays are looked for until enough keeps that were sent after the last doubt have found none; and now and then, because what was in doubt may be applied very late, and would
 * then stand in the way for as long as the session lives.
 */
function looksForStrays(open: Open, keep: number): boolean {
  return open.doubtedAt >= 0 || keep % STRAYS_EVERY === 0;
}

/** What need not be done for a keep; undefined: all of it is wanted. */
function wishOf(proof: boolean, strays: boolean, carriesAll: boolean): KeepWish | undefined {
  if (proof && strays && carriesAll) return undefined;
  const wish: { -readonly [Part in keyof KeepWish]: KeepWish[Part] } = {};
  if (!proof) wish.proof = false;
  if (!strays) wish.strays = false;
  if (!carriesAll) wish.part = true;
  return wish;
}

/** Whether any term depends on the session's deadline. */
export function hasTerms(machine: Machine): boolean {
  for (const { stage } of machine.campaigns.values())
    if (stage.kind === "leading" || stage.kind === "ending") return true;
  return false;
}

/** A keep that was sent as number `keep`, and may have looked for strays, has been answered. */
export function noteSearch(open: Open, keep: number, found: number): void {
  if (found > 0) doubt(open);
  else if (keep >= open.doubtedAt + CLEAN_SEARCHES) open.doubtedAt = -1;
}

/**
 * The store says without proof that the session lives: only an answered renewal that proves something extends a term (law 6), so nothing is extended.
 * What was won meanwhile needs a proof in its own rhythm.
 */
export function hearSay(
  machine: Machine,
  open: Open,
  keep: number,
  sentAt: Reading,
  witness: string | undefined,
  now: Reading,
): void {
  open.failures = 0;
  open.hearsay = true;
  open.heard = witness === undefined ? undefined : { keep, sentAt, witness };
  if (keep < open.renewalAsked) open.renewAt = now.mono;
  else if (hasTerms(machine)) open.renewAt = nextProofAt(open, now);
  else open.renewAt = sentAt.mono + open.session.ttlMs * WAITING_RHYTHM;
}

/** When the next proof is due for what is held. */
export function nextProofAt(open: Open, now: Reading): number {
  return Math.max(now.mono, open.lifeline.provenAt.mono + open.pace.renewEveryMs);
}

/**
 * A keep of this session was answered `kept`: extends the session's lifeline by what it proves, and returns that date. Undefined: it came too late to prove
 * anything, of the session or of a record that it carried.
 */
export function prove(
  machine: Machine,
  open: Open,
  keep: number,
  sentAt: Reading,
  road: string | undefined,
  now: Reading,
  effects: Effect[],
): Reading | undefined {
  const { settings } = machine;
  const inTime = elapsedMs(sentAt, now) <= open.proof.withinMs;
  const proven = inTime ? provenBy(open, settings, sentAt, road) : open.lifeline.provenAt;
  open.failures = 0;
  if (proven === undefined) return waitForPair(machine, open, sentAt, now);
  extend(open.lifeline, proven, open.session.ttlMs, open.pace, open.bounds);
  open.hearsay = false;
  open.heard = undefined;
  machine.barren = 0;
  const rhythm = settings.renewal === "manual" ? Infinity : sentAt.mono + open.pace.renewEveryMs;
  open.renewAt = keep < open.renewalAsked ? now.mono : rhythm;
  if (inTime) {
    open.keepProven = Math.max(open.keepProven, keep);
    open.stalled = false;
    const leftMs = remainingMs(open.lifeline.deadline, now);
    effects.push({ type: "kept", keep, roundTripMs: now.mono - sentAt.mono, remainingMs: leftMs });
  } else {
    const message = `${settings.guarantee.store}: a renewal was answered too late to prove anything. It is tried again.`;
    effects.push({ type: "unkept", keep, error: new ConclaveError("STORE_TIMEOUT", message) });
  }
  return inTime ? proven : undefined;
}

/** What an answer in time proves; undefined if it makes no pair with the keep before. Then a later one may: with this keep, by a new road, or with the one before. */
function provenBy(open: Open, { guarantee }: Settings, sentAt: Reading, road: string | undefined): Reading | undefined {
  if (guarantee.keepProves === "this-send") return sentAt;
  const before = open.answeredSentAt;
  const isOneRoad = road === open.answeredRoad;
  // The hand that counts no sleep: a relay that slept has sent nothing.
  if (isOneRoad && sentAt.mono - before.mono < open.proof.apartMs) return undefined;
  open.answeredSentAt = sentAt;
  open.answeredRoad = road;
  return isOneRoad ? before : undefined;
}

/** The session lives, and nothing new is proven: the next keep is sent as soon as it can make a pair. */
function waitForPair(machine: Machine, open: Open, sentAt: Reading, now: Reading): undefined {
  const { renewal } = machine.settings;
  const isWanted = open.renewalAsked > open.keepProven;
  const rhythm = renewal === "manual" ? Infinity : sentAt.mono + open.pace.renewEveryMs;
  const pairedAt = open.answeredSentAt.mono + open.proof.apartMs;
  const needsPair = isWanted || (renewal !== "manual" && hasTerms(machine));
  open.renewAt = Math.max(now.mono, needsPair ? Math.min(rhythm, pairedAt) : rhythm);
  return undefined;
}

/** For the deputy, which knows of holds and not of campaigns: a keep that was answered in time has proven nothing, and the next is sent as soon as it can make a pair. */
export function pairSoon({ settings }: Machine, open: Open, sentAt: Reading, now: Reading): void {
  if (settings.guarantee.keepProves === "this-send" || elapsedMs(sentAt, now) > open.proof.withinMs) return;
  open.renewAt = Math.max(now.mono, Math.min(open.renewAt, open.answeredSentAt.mono + open.proof.apartMs));
}

/** A keep was not answered, or refused: nothing is proven; it is tried again soon. */
export function disprove(
  machine: Machine,
  open: Open,
  keep: number,
  kept: Exclude<Kept, { kind: "kept" | "session-lost" }>,
  now: Reading,
  effects: Effect[],
): void {
  const error = errorOf("a renewal", kept, machine);
  emitError(effects, "renew", error);
  effects.push({ type: "unkept", keep, error });
  open.failures++;
  const again = machine.settings.renewal !== "manual" || keep < open.renewalAsked;
  open.renewAt = again ? now.mono + retryAfterMs(machine, open.failures) : Infinity;
}

/** Ends the session at the store, so that requests of it that are still in flight are refused there. */
export function sendFarewell(machine: Machine, open: Open, last: boolean, effects: Effect[]): void {
  const errand = { kind: "release", opened: open.opened, holds: [], last } as const;
  const request = { method: "release", will: { session: open.session, holds: [], endSession: true } } as const;
  send(machine, errand, releaseTimeoutMs(open), request, effects);
}

/** A caller may wait for this process to end. A release without an answer by then is sent again, or the session runs out by itself: a release only hastens the next leader. */
export function releaseTimeoutMs(open: Open): number {
  return Math.min(open.pace.requestTimeoutMs, LONGEST_RELEASE_MS);
}
