// The replica as one that promises. It has one promise at a time, to one holder, in an epoch that never falls; it tells nobody of a promise before the promise is on disk.
import { nextBetween } from "../../base/rng.ts";
import { NOBODY, type NodeId } from "../node.ts";
import { promiseMs } from "./deadlines.ts";
import { type MasterLeaseEffects, type MasterLeaseState, type PendingPromise, STAND } from "./state.ts";

/** Tells whether the replica would break its promise by electing `candidate`. A promise to itself binds it only while it stands or leads. */
export function isBound({ id, pledge, tenure }: MasterLeaseState, candidate: NodeId, now: number): boolean {
  if (pledge.holder === NOBODY || pledge.holder === candidate || now >= pledge.until) return false;
  return pledge.holder !== id || tenure !== undefined;
}

/** Makes a new promise. The replica that had the old one may still rely on it; so may the one before, if the holder is the same. */
export function promise(
  state: MasterLeaseState,
  holder: NodeId,
  epoch: number,
  now: number,
  effects: MasterLeaseEffects,
): number {
  const { pledge } = state;
  if (pledge.holder !== holder) pledge.othersUntil = Math.max(pledge.othersUntil, pledge.until);
  pledge.epoch = epoch;
  pledge.holder = holder;
  state.seen = Math.max(state.seen, epoch);
  extend(state, now);
  effects.persist(++state.ticket, { epoch, holder });
  return state.ticket;
}

export function extend({ pledge, margins }: MasterLeaseState, now: number): void {
  pledge.until = now + promiseMs(margins);
}

/** Returns how long a replica other than the holder may still rely on this one, by its clock. */
export function othersMs({ pledge }: MasterLeaseState, now: number): number {
  return Math.max(0, pledge.othersUntil - now);
}

/** For a world that begins settled, where the promise to `holder` has just been made. */
export function beginPledged(state: MasterLeaseState, now: number, effects: MasterLeaseEffects): void {
  const { holder } = state.pledge;
  promise(state, holder, state.pledge.epoch, now, effects);
  armStand(state, now, effects);
  if (holder !== state.id) effects.announce("follower", holder, state.pledge.epoch);
}

/** The old life may have renewed a promise a moment before it died, and the disk does not say for which replica. So any replica may rely on it for a full lease. */
export function remember(state: MasterLeaseState, epoch: number, holder: NodeId, now: number): void {
  state.seen = epoch;
  state.pledge.epoch = epoch;
  state.pledge.holder = holder;
  extend(state, now);
  state.pledge.othersUntil = state.pledge.until;
}

/** True: the replica has made a new promise. */
export function hearAsk(
  state: MasterLeaseState,
  from: NodeId,
  { epoch, isForced }: { readonly epoch: number; readonly isForced: boolean },
  now: number,
  effects: MasterLeaseEffects,
): boolean {
  const { pledge } = state;
  state.seen = Math.max(state.seen, epoch);
  // The message was doubled on its way: the first copy has been answered, or will be.
  if (epoch === pledge.epoch && from === pledge.holder) return false;
  if (epoch <= pledge.epoch || (!isForced && isBound(state, from, now))) {
    effects.send(from, { type: "DENY", epoch, seen: pledge.epoch });
    return false;
  }
  const ticket = promise(state, from, epoch, now, effects);
  state.pending.push({ type: "grant", ticket, epoch, to: from, waitMs: othersMs(state, now) });
  armStand(state, now, effects);
  return true;
}

function isPending({ pending }: MasterLeaseState, epoch: number): boolean {
  return pending.some((waits) => waits.epoch === epoch);
}

/**
 * A majority has promised to the replica that renews, so nobody else leads in its epoch, or will in a lesser one: this replica joins, unless it has promised in a later one. False: it has promised in a
 * later epoch, and answers so.
 */
export function hearRenew(
  state: MasterLeaseState,
  from: NodeId,
  epoch: number,
  sequence: number,
  now: number,
  effects: MasterLeaseEffects,
): boolean {
  const { pledge } = state;
  state.seen = Math.max(state.seen, epoch);
  if (epoch < pledge.epoch) {
    effects.send(from, { type: "STALE", seen: pledge.epoch });
    return false;
  }
  if (epoch > pledge.epoch || from !== pledge.holder) {
    const ticket = promise(state, from, epoch, now, effects);
    state.pending.push({ type: "renew", ticket, epoch, to: from, sequence });
  } else if (!isPending(state, epoch)) {
    extend(state, now);
    effects.send(from, { type: "RENEWED", epoch, sequence });
  }
  armStand(state, now, effects);
  return true;
}

/** The promise is on disk now. Its holder is told, unless the replica has since promised to another, or the promise was given back. */
export function pledgeStored(
  state: MasterLeaseState,
  stored: Exclude<PendingPromise, { type: "ask" }>,
  effects: MasterLeaseEffects,
): void {
  const { epoch, to } = stored;
  if (state.pledge.epoch !== epoch || state.pledge.holder !== to) return;
  if (stored.type === "grant") effects.send(to, { type: "GRANT", epoch, waitMs: stored.waitMs });
  else effects.send(to, { type: "RENEWED", epoch, sequence: stored.sequence });
}

export function hearRelease(
  state: MasterLeaseState,
  from: NodeId,
  epoch: number,
  now: number,
  effects: MasterLeaseEffects,
): void {
  if (state.pledge.holder !== from || state.pledge.epoch !== epoch) return;
  giveBack(state, now);
  armStand(state, now, effects);
}

/** Nobody relies on the promise any more, but a replica may still rely on an earlier one. */
export function giveBack({ pledge }: MasterLeaseState, now: number): void {
  pledge.holder = NOBODY;
  pledge.until = now;
}

/** The replica stands when it is free, at a random time of its own. */
export function armStand(state: MasterLeaseState, now: number, effects: MasterLeaseEffects): void {
  const freeMs = isBound(state, state.id, now) ? state.pledge.until - now : 0;
  effects.setTimer(STAND, freeMs + nextBetween(state.rng, 0, state.spreadMs));
}
