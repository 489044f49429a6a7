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
//   `proofWithinMs` proves nothing.
import type { Reading } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { Refused } from "../base/outcome.ts";
import { retryAfterMs } from "./backoff.ts";
import { remainingMs } from "./deadline.ts";
import type { Hold, Kept, Session } from "./exchange.ts";
import { createLifeline, extend } from "./lifeline.ts";
import { emit, emitError, errorOf, send } from "./report.ts";
import { paceOf } from "./settings.ts";
import type { Effect, Machine, Open, Opening } from "./state.ts";

const LONGEST_RELEASE_MS = 2000;

/** Begins a session, or tries the same opening again. */
export function openSession(machine: Machine, now: Reading, effects: Effect[]): void {
  const { settings, session } = machine;
  const opening: Opening =
    session.kind === "opening"
      ? session
      : {
          kind: "opening",
          opened: session.opened + 1,
          spec: {
            nonce: `${machine.nonce}.s${session.opened + 1}`,
            candidate: settings.candidate,
            ttlMs: settings.ttlMs,
          },
          firstSentAt: now,
          errand: 0,
          retryAt: Infinity,
          failures: 0,
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

/** The store ended a session. LAW 9: the first time nothing is waited for; then pauses grow, until a keep is proven. */
export function countBarren(machine: Machine, wasProven: boolean, now: Reading): void {
  machine.openAt = machine.barren === 0 ? now.mono : now.mono + retryAfterMs(machine, machine.barren);
  machine.barren = wasProven ? 0 : machine.barren + 1;
}

/** The store has granted a session; by the ttl it granted, not the one asked for. Refused if that leaves no room to renew. */
export function establish(
  machine: Machine,
  opening: Opening,
  session: Session,
  now: Reading,
  effects: Effect[],
): Refused | undefined {
  const { settings } = machine;
  const pace = paceOf(session.ttlMs, settings.drainMs, settings.margins, settings.guarantee.keepProves);
  if (pace === undefined) {
    const { store } = settings.guarantee;
    const message = `${store} granted a ttl of ${session.ttlMs} ms where ${settings.ttlMs} were asked for: too short for drainMs ${settings.drainMs}. Lower drainMs, or let the store grant more.`;
    return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
  }
  const lifeline = createLifeline(opening.firstSentAt, session.ttlMs, pace, settings);
  machine.session = {
    kind: "open",
    opened: opening.opened,
    session,
    pace,
    lifeline,
    errand: 0,
    keepsSent: 0,
    keepProven: 0,
    answeredSentAt: opening.firstSentAt,
    renewAt:
      settings.renewal === "manual" ? Infinity : Math.max(now.mono, opening.firstSentAt.mono + pace.renewEveryMs),
    renewalAsked: 0,
    failures: 0,
    stalled: false,
    leftovers: [],
    leftoversAt: Infinity,
    leftoversErrand: 0,
  };
  emit(effects, { type: "session", state: "opened", session: session.id });
  return undefined;
}

/** A keep now, beyond the rhythm: one that is in flight does not count, it left before. */
export function askRenewal(open: Open, now: Reading): void {
  open.renewalAsked = open.keepsSent + 1;
  open.renewAt = now.mono;
}

/** Sends the next keep with every hold of the session. At most one is in flight. */
export function sendKeep(machine: Machine, open: Open, holds: readonly Hold[], now: Reading, effects: Effect[]): void {
  const keep = ++open.keepsSent;
  open.renewAt = Infinity;
  const errand = { kind: "keep", opened: open.opened, keep, sentAt: now } as const;
  open.errand = send(
    machine,
    errand,
    open.pace.requestTimeoutMs,
    { method: "keep", session: open.session, holds },
    effects,
  );
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
  now: Reading,
  effects: Effect[],
): Reading | undefined {
  const { settings } = machine;
  const inTime = now.mono - sentAt.mono <= settings.guarantee.proofWithinMs;
  const proven = !inTime
    ? open.lifeline.provenAt
    : settings.guarantee.keepProves === "this-send"
      ? sentAt
      : open.answeredSentAt;
  if (inTime) open.answeredSentAt = sentAt;
  extend(open.lifeline, proven, open.session.ttlMs, open.pace, settings);
  open.failures = 0;
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

/** Something of this session stands at the store that should not: give it back as soon as possible. */
export function leaveBehind(open: Open, hold: Hold, now: Reading): void {
  if (!open.leftovers.some((other) => other.name === hold.name && other.bid === hold.bid)) open.leftovers.push(hold);
  open.leftoversAt = Math.min(open.leftoversAt, now.mono);
}

/** Sends all leftovers in one release. */
export function sendLeftovers(machine: Machine, open: Open, effects: Effect[]): void {
  const holds = open.leftovers.slice();
  open.leftoversAt = Infinity;
  if (holds.length === 0) return; // what was left behind again meanwhile has been given back by the release in flight
  const errand = { kind: "release", opened: open.opened, holds, last: false } as const;
  const request = { method: "release", will: { session: open.session, holds, endSession: false } } as const;
  open.leftoversErrand = send(machine, errand, releaseTimeoutMs(open), request, effects);
}

/** Ends the session at the store, so that whatever of it is still in flight is refused there. */
export function sendFarewell(machine: Machine, open: Open, last: boolean, effects: Effect[]): void {
  const errand = { kind: "release", opened: open.opened, holds: [], last } as const;
  const request = { method: "release", will: { session: open.session, holds: [], endSession: true } } as const;
  send(machine, errand, releaseTimeoutMs(open), request, effects);
}

/** Somebody may be waiting for this process to end. What is not answered by then is said again, or runs out by itself: a release only hastens the next leader. */
function releaseTimeoutMs(open: Open): number {
  return Math.min(open.pace.requestTimeoutMs, LONGEST_RELEASE_MS);
}
