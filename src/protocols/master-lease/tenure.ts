// The replica that others promise to: it stands, waits until its predecessor's lease is over, leads while a majority keeps its promise, and stops by its own clock.
import { NOBODY, type NodeId } from "../node.ts";
import { beliefMs, passedBy, reachedBy, waitOf } from "./deadlines.ts";
import { armStand, extend, giveBack, othersMs, promise } from "./pledge.ts";
import {
  ATTEMPT,
  BEGIN,
  LAPSE,
  type MasterLeaseEffects,
  type MasterLeaseState,
  RENEW,
  STAND,
  type Tenure,
} from "./state.ts";

/** This many renewals may be under way at once. */
const SENDS_KEPT = 16;
const LEAST_MS = 0.001;

function newTenure({ id, peers }: MasterLeaseState, epoch: number, isForced: boolean): Tenure {
  const size = Math.max(id, ...peers) + 1;
  return {
    phase: "preparing",
    epoch,
    isForced,
    askedAt: 0,
    keptAt: new Float64Array(size).fill(-Infinity),
    readyAt: new Float64Array(size).fill(Infinity),
    denied: new Set(),
    startsAt: Infinity,
    deadline: -Infinity,
    sequence: 0,
    sentAt: new Float64Array(SENDS_KEPT).fill(-Infinity),
  };
}

/**
 * The replica first promises to itself, and that promise is on disk before it asks anybody: a new life never asks in an epoch in which the old one has asked, so a late answer to the old life is none to
 * the new.
 */
export function stand(state: MasterLeaseState, isForced: boolean, now: number, effects: MasterLeaseEffects): void {
  for (const timer of [STAND, BEGIN, RENEW, LAPSE]) effects.cancelTimer(timer);
  const epoch = state.seen + 1;
  state.tenure = newTenure(state, epoch, isForced);
  const ticket = promise(state, state.id, epoch, now, effects);
  state.pending.push({ type: "ask", ticket, epoch });
  effects.announce("candidate", NOBODY, epoch);
  effects.setTimer(ATTEMPT, state.attemptMs);
}

export function ask(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  tenure.phase = "asking";
  tenure.askedAt = now;
  extend(state, now);
  const message = { type: "ASK", epoch: tenure.epoch, isForced: tenure.isForced } as const;
  for (const peer of state.peers) effects.send(peer, message);
  hearGrant(state, tenure, state.id, othersMs(state, now), now, effects);
}

/** A grant is dated at the send of the question, whenever it arrives; the time to wait is counted from its arrival. */
export function hearGrant(
  state: MasterLeaseState,
  tenure: Tenure,
  from: NodeId,
  waitMs: number,
  now: number,
  effects: MasterLeaseEffects,
): void {
  if (tenure.phase === "preparing" || isOver(tenure, now)) return;
  if (tenure.readyAt[from] === Infinity) tenure.readyAt[from] = now + waitOf(waitMs, state.margins);
  keep(state, tenure, from, tenure.askedAt, now, effects);
  if (tenure.phase === "leading" || reachedBy(tenure.keptAt, state.majority) === -Infinity) return;
  tenure.startsAt = passedBy(tenure.readyAt, state.majority);
  if (tenure.phase === "asking") win(state, tenure, now, effects);
  else effects.setTimer(BEGIN, tenure.startsAt - now);
}

/** A late proof does not revive a tenure that is over. */
export function isOver({ phase, deadline }: Tenure, now: number): boolean {
  return (phase === "waiting" || phase === "leading") && now >= deadline;
}

/** The lease lasts as long as the oldest proof of the majority allows. */
function keep(
  state: MasterLeaseState,
  tenure: Tenure,
  from: NodeId,
  sentAt: number,
  now: number,
  effects: MasterLeaseEffects,
): void {
  tenure.keptAt[from] = Math.max(tenure.keptAt[from] ?? -Infinity, sentAt);
  tenure.deadline = reachedBy(tenure.keptAt, state.majority) + beliefMs(state.margins);
  if (tenure.deadline > -Infinity) effects.setTimer(LAPSE, tenure.deadline - now);
}

function win(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  tenure.phase = "waiting";
  effects.cancelTimer(ATTEMPT);
  if (now >= tenure.startsAt) return lead(state, tenure, now, effects);
  effects.explain("a majority has promised; an earlier lease may still run: it waits");
  effects.setTimer(BEGIN, tenure.startsAt - now);
  renew(state, tenure, now, effects);
}

function lead(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  tenure.phase = "leading";
  effects.cancelTimer(BEGIN);
  effects.announce("leader", state.id, tenure.epoch);
  renew(state, tenure, now, effects);
}

/** For a world that begins settled: every replica has just promised. */
export function beginLeading(state: MasterLeaseState, now: number, effects: MasterLeaseEffects): void {
  const tenure = newTenure(state, state.pledge.epoch, false);
  state.tenure = tenure;
  effects.cancelTimer(STAND);
  for (const replica of [state.id, ...state.peers]) tenure.keptAt[replica] = now;
  lead(state, tenure, now, effects);
}

/** The wait is over, unless the timer was early by a rounding error. */
export function begin(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  if (now >= tenure.startsAt) lead(state, tenure, now, effects);
  else effects.setTimer(BEGIN, Math.max(tenure.startsAt - now, LEAST_MS));
}

export function renew(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  const sequence = ++tenure.sequence;
  tenure.sentAt[sequence % SENDS_KEPT] = now;
  const message = { type: "RENEW", epoch: tenure.epoch, sequence, leads: tenure.phase === "leading" } as const;
  for (const peer of state.peers) effects.send(peer, message);
  extend(state, now);
  keep(state, tenure, state.id, now, now, effects);
  effects.setTimer(RENEW, state.renewEveryMs);
}

export function hearRenewed(
  state: MasterLeaseState,
  tenure: Tenure,
  from: NodeId,
  sequence: number,
  now: number,
  effects: MasterLeaseEffects,
): void {
  const isKnown = sequence <= tenure.sequence && sequence > tenure.sequence - SENDS_KEPT;
  if (isKnown) keep(state, tenure, from, tenure.sentAt[sequence % SENDS_KEPT] as number, now, effects);
}

export function hearDenied(
  state: MasterLeaseState,
  tenure: Tenure,
  from: NodeId,
  now: number,
  effects: MasterLeaseEffects,
): void {
  if (tenure.phase !== "asking") return;
  tenure.denied.add(from);
  if (state.peers.length + 1 - tenure.denied.size < state.majority) resign(state, tenure, now, effects);
}

/** This replica will not use this epoch again, so those that promised in it are free. */
export function resign(state: MasterLeaseState, tenure: Tenure, now: number, effects: MasterLeaseEffects): void {
  const message = { type: "RELEASE", epoch: tenure.epoch } as const;
  for (const peer of state.peers) effects.send(peer, message);
  giveBack(state, now);
  stop(state, now, effects);
}

/** Stops without telling the others: the replica's promise to itself is over, or was replaced by one to another replica. */
export function stop(state: MasterLeaseState, now: number, effects: MasterLeaseEffects): void {
  state.tenure = undefined;
  for (const timer of [ATTEMPT, BEGIN, RENEW, LAPSE]) effects.cancelTimer(timer);
  effects.announce("follower", NOBODY, state.pledge.epoch);
  armStand(state, now, effects);
}
