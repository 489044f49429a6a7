// The deputy: what a renewal thread decides while the main loop is busy. The machine's keeps are carried out by it, one by one (`takeOrder`). When
// the machine is late with the next, it sends one in its place: the session and the holds that it was last told of, dated anew. Pure, as the machine is;
// when a keep is due, what its answer proves and when to try again is the machine's own arithmetic (session.ts), on a copy of its session.
//
// Why two cannot lead. Nothing here extends a term. What the store answers goes whole to the machine, as an input with the reading of its
// receipt (`Word`), and the machine takes it as it takes an answer of its own:
//   date      a repeat is dated before it leaves, on clocks that both threads read: law 1 holds as for any keep;
//   deadline  the machine first brings its books up to the RECEIPT. An answer that came after the deadline finds the term lost: nothing is revived,
//             though the store may have renewed it. So the deadlines that were in force one after the other leave no gap;
//   whole     an answer may extend the session and name a hold that is gone: both happen in one step, so a hold that is gone is not extended. A shared
//             deadline alone could not say that;
//   carried   every hold is in the deputy's hands before its work begins (`carry`), and has the number from which on keeps carry it. A keep without it
//             would extend its term, time and again, without asking whether it is still there;
//   whose     a repeat names its session: one that is over is not revived by a late answer, nor is another extended;
//   beats     both send keeps, and each keep leaves a beat (beats.ts). The machine is told of a repeat's beat before it is sent. An order may have left the
//             machine before it read that word: so what the deputy knows is added to what the order names.
// The host hands words over in order, and all that there are before it asks the machine anything, in particular isHeld(): what it then says is what a
// machine would say that had never been blocked. A word that got lost shortens a belief, and never makes one longer.
//
// The deputy never releases (law 8: drain, then release): the main loop may go on at any moment before the deadline, and its work with it.
// A hung leader loses. Once the main loop has not turned for `stallAfterMs`, on either hand, nothing is sent: the last keep left no later than that, so
//   the seat is free when stallAfterMs + ttl have passed since the last turn, and what a request and a taker take.
import type { Reading } from "../base/clock.ts";
import { isPast, later } from "./deadline.ts";
import { hearBeat, learnBeats, leave } from "./beats.ts";
import type { Hold, Kept, Session } from "./exchange.ts";
import { stateOf } from "./lifeline.ts";
import { createMachine } from "./machine.ts";
import { disprove, hearSay, pairSoon, prove } from "./session.ts";
import type { Settings } from "./settings.ts";
import type { Input, Machine, Open, Request } from "./state.ts";

/** What the deputy keeps: a copy of the session, and the holds that keep number `keep` carries. */
export interface Charge {
  readonly open: Open;
  readonly keep: number;
  readonly holds: readonly Hold[];
}

/** A keep of the machine, for the deputy to carry out. */
export interface KeepOrder extends Charge {
  readonly errand: number;
  readonly sentAt: Reading;
  /** The beat that it leaves in the session's record. */
  readonly beat?: string | undefined;
}

/** What the machine is told, and the reading at which it became known. */
export interface Word {
  readonly input: Input;
  readonly at: Reading;
}

export type DeputyEffect =
  | { readonly type: "call"; readonly flight: number; readonly timeoutMs: number; readonly request: Request }
  | { readonly type: "tell"; readonly word: Word };

interface Flight {
  /** The machine's number of this keep; 0 for a repeat. */
  readonly errand: number;
  readonly opened: number;
  readonly keep: number;
  readonly sentAt: Reading;
  readonly beat?: string | undefined;
}

export interface Deputy {
  /** A machine that holds only a copy of the session that is kept. */
  readonly machine: Machine;
  charge: Charge | undefined;
  /** Orders go out at once, a repeat only when nothing is in flight: so there are two flights at most. */
  readonly flights: Map<number, Flight>;
  flown: number;
  /** The machine was late: until it orders again, keeps go out in its rhythm. */
  acts: boolean;
  stalled: boolean;
}

export function createDeputy(settings: Settings, seed: number): Deputy {
  return {
    machine: createMachine(settings, "deputy", seed),
    charge: undefined,
    flights: new Map(),
    flown: 0,
    acts: false,
    stalled: false,
  };
}

// ---- the machine's side --------------------------------------------------------------------------------------------------------------

/** The order for this call of the machine; undefined if it is not a keep of its present session. */
export function orderOf(machine: Machine, errand: number, request: Request): KeepOrder | undefined {
  const { session } = machine;
  const sent = machine.errands.get(errand);
  if (request.method !== "keep" || sent?.kind !== "keep") return undefined;
  if (session.kind !== "open" || session.opened !== sent.opened) return undefined;
  const { keep, sentAt, beat } = sent;
  return { errand, keep, sentAt, beat, holds: request.holds, open: copyOf(session) };
}

/** The charge of a session that has just been opened: no term depends on it yet. */
export function chargeOf(machine: Machine): Charge | undefined {
  const { session } = machine;
  return session.kind === "open" ? { open: copyOf(session), keep: session.keepsSent, holds: [] } : undefined;
}

function copyOf(open: Open): Open {
  return { ...open, lifeline: { ...open.lifeline }, leftovers: [] };
}

/** Number of the session that the machine wants kept; 0 for none. The deputy of any other has to rest. */
export function keptSession(machine: Machine): number {
  const { session } = machine;
  return session.kind === "open" && machine.campaigns.size > 0 && machine.closing !== "ended" ? session.opened : 0;
}

// ---- the deputy's side ---------------------------------------------------------------------------------------------------------------

export function takeCharge(deputy: Deputy, charge: Charge): void {
  const { session } = deputy.machine;
  if (session.kind === "open" && session.opened === charge.open.opened) learnBeats(charge.open, session.session.beats);
  deputy.charge = charge;
  deputy.machine.session = charge.open;
  deputy.acts = false;
  deputy.stalled = false;
}

/**
 * Code that asks isHeld() for ever makes the machine order keeps, and turns no loop: a hung leader's keeps are not sent either. The answer is a refusal: it
 * was definitely not applied.
 */
export function takeOrder(
  deputy: Deputy,
  order: KeepOrder,
  turnedAt: Reading,
  now: Reading,
  effects: DeputyEffect[],
): void {
  takeCharge(deputy, order);
  const flight = ++deputy.flown;
  deputy.flights.set(flight, flightOf(order, order.errand, order.sentAt, order.beat));
  if (!hasStalled(deputy, turnedAt, now)) return call(flight, order, named(order), effects);
  stall(deputy, order.open, now, effects);
  landed(deputy, flight, NOT_SENT, now, effects);
}

/** If nothing is known yet of the beat in the record, the new beat is left over any. */
function named({ open: { session }, beat }: KeepOrder): Session {
  return session.beats === undefined && beat !== undefined ? { ...session, beats: [beat] } : session;
}

const NOT_SENT: Kept = {
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message:
    "a renewal was not sent: the main loop has not turned for longer than stallAfterMs. Look for code that never yields.",
  retryable: true,
};

/** A hold was won: keeps carry it from now on, and number `keep` is the first of them. */
export function carry(deputy: Deputy, opened: number, keep: number, hold: Hold): void {
  const { charge } = deputy;
  if (charge?.open.opened === opened) deputy.charge = { ...charge, keep, holds: [...charge.holds, hold] };
}

/** The main loop has sent a keep by itself, which leaves this beat. */
export function heed(deputy: Deputy, opened: number, beat: string): void {
  const { session } = deputy.machine;
  if (session.kind === "open" && session.opened === opened) leave(session, beat);
}

/** The session is over, or no term depends on it any more. */
export function rest(deputy: Deputy): void {
  deputy.charge = undefined;
  deputy.machine.session = { kind: "none", opened: 0 };
}

/** An answer, or `unknown` for want of one. */
export function landed(deputy: Deputy, flight: number, kept: Kept, now: Reading, effects: DeputyEffect[]): void {
  const flown = deputy.flights.get(flight);
  if (flown === undefined) return;
  deputy.flights.delete(flight);
  const { errand, opened, keep, sentAt, beat } = flown;
  const input: Input =
    errand > 0 ? { type: "answer", errand, answer: kept } : { type: "repeated", opened, keep, sentAt, kept, beat };
  effects.push({ type: "tell", word: { input, at: now } });
  const { machine } = deputy;
  const { session } = machine;
  if (session.kind !== "open" || session.opened !== opened) return;
  if (stateOf(session.lifeline, now) === "lost") return rest(deputy);
  const heard = hearBeat(session, flown, kept);
  if (heard.kind === "session-lost") return rest(deputy);
  // The machine itself reports these, when it is told.
  if (heard.kind === "kept" && heard.proves === false) hearSay(machine, session, keep, sentAt, heard.witness, now);
  else if (heard.kind === "kept") {
    const proven = prove(machine, session, keep, sentAt, heard.road, now, []);
    if (proven === undefined && (deputy.charge?.holds.length ?? 0) > 0) pairSoon(machine, session, sentAt, now);
  } else disprove(machine, session, keep, heard, now, []);
}

/** `turnedAt`: when the main loop last turned. `fresh`: the beat of the repeat, if one is sent, where the store refuses clones. */
export function deputize(
  deputy: Deputy,
  turnedAt: Reading,
  now: Reading,
  fresh: string | undefined,
  effects: DeputyEffect[],
): void {
  const { charge, machine } = deputy;
  const { session } = machine;
  if (charge === undefined || session.kind !== "open" || deputy.flights.size > 0) return;
  if (stateOf(session.lifeline, now) === "lost") return rest(deputy);
  if (now.mono < dueAt(deputy, session)) return;
  if (hasStalled(deputy, turnedAt, now)) return stall(deputy, session, now, effects);
  deputy.acts = true;
  deputy.stalled = false;
  const flight = ++deputy.flown;
  const names = fresh === undefined ? session.session : leave(session, fresh);
  deputy.flights.set(flight, flightOf(charge, 0, now, fresh));
  if (fresh !== undefined)
    effects.push({ type: "tell", word: { input: { type: "beat", opened: session.opened, beat: fresh }, at: now } });
  call(flight, charge, names, effects);
}

function hasStalled({ machine: { settings } }: Deputy, turnedAt: Reading, now: Reading): boolean {
  return isPast(later(turnedAt, settings.stallAfterMs), now);
}

/** The monotonic instant of the next `deputize`. */
export function nextDuty(deputy: Deputy, now: Reading): number {
  const { session } = deputy.machine;
  if (deputy.charge === undefined || session.kind !== "open" || deputy.flights.size > 0) return Infinity;
  const next = dueAt(deputy, session);
  return deputy.stalled ? Math.max(next, now.mono + patienceMs(session)) : next;
}

/** The machine goes first; it is late when half of a request's time has passed. */
function dueAt(deputy: Deputy, open: Open): number {
  return deputy.acts ? open.renewAt : open.renewAt + patienceMs(open);
}

function patienceMs(open: Open): number {
  return open.pace.requestTimeoutMs / 2;
}

/** This is not for ever: a loop that turns again before the deadline is served again. */
function stall(deputy: Deputy, open: Open, now: Reading, effects: DeputyEffect[]): void {
  if (!deputy.stalled)
    effects.push({ type: "tell", word: { input: { type: "stalled", opened: open.opened }, at: now } });
  deputy.stalled = true;
}

function flightOf({ open, keep }: Charge, errand: number, sentAt: Reading, beat: string | undefined): Flight {
  return { errand, opened: open.opened, keep, sentAt, beat };
}

function call(flight: number, { open, holds }: Charge, session: Session, effects: DeputyEffect[]): void {
  const request: Request = { method: "keep", session, holds };
  effects.push({ type: "call", flight, timeoutMs: open.pace.requestTimeoutMs, request });
}
