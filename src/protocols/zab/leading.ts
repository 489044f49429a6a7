// Discovery and synchronisation on the side of the elected peer. An election is only a hint: its winner leads when a quorum has accepted an epoch of its own, which no other leader can have, and has the
// winner's history on disk.
import { assert } from "../../base/assert.ts";
import type { NodeId } from "../node.ts";
import { persist } from "./following.ts";
import type { RoundResult } from "./looking.ts";
import {
  LIMIT,
  type ZabPending,
  PING,
  type Reign,
  RESEND,
  type Vote,
  type ZabEffects,
  type ZabState,
} from "./state.ts";
import { compareHistories, isBetter, isQuorum, weightOf } from "./vote.ts";

export function beginReign(state: ZabState, { electors }: RoundResult, effects: ZabEffects): void {
  assert(weightOf(state, state.id) !== 0, "a peer of weight 0 is never elected");
  effects.cancelTimer(RESEND);
  state.mode = "leading";
  state.isFinalizing = false;
  const reign: Reign = {
    phase: "gathering",
    epoch: 0,
    electors: new Set(electors),
    joined: new Map([[state.id, state.acceptedEpoch]]),
    accepted: new Set(),
    synced: new Set(),
    heardAt: new Map(),
  };
  state.reign = reign;
  effects.setTimer(LIMIT, state.timing.initLimitMs);
  chooseEpoch(state, reign, effects);
}

/** For a world that begins settled. */
export function resumeReign(state: ZabState, now: number, effects: ZabEffects): void {
  const others = state.voters.filter((peer) => peer !== state.id);
  state.reign = {
    phase: "established",
    epoch: state.currentEpoch,
    electors: new Set(),
    joined: new Map(),
    accepted: new Set(),
    synced: new Set(state.voters),
    heardAt: new Map(others.map((peer) => [peer, now])),
  };
  effects.announce("leader", state.id, state.currentEpoch);
  effects.setTimer(PING, state.timing.tickMs / 2);
}

/** The epoch is greater than every epoch that the peers of a quorum have accepted; the leader's own acceptance is on disk before anybody hears of the epoch. */
function chooseEpoch(state: ZabState, reign: Reign, effects: ZabEffects): void {
  if (reign.phase !== "gathering" || !isQuorum(state, reign.joined.keys())) return;
  reign.phase = "choosing";
  reign.epoch = Math.max(...reign.joined.values()) + 1;
  state.acceptedEpoch = reign.epoch;
  state.acceptedFor = state.id;
  const ticket = persist(state, effects);
  state.pending.push({ type: "promise", ticket, leader: state.id, epoch: reign.epoch });
  effects.announce("candidate", 0, reign.epoch);
}

/** False: the joiner has accepted a later epoch than this reign's, and could never join it. This peer must look again. */
export function hearJoiner(
  state: ZabState,
  reign: Reign,
  from: NodeId,
  acceptedEpoch: number,
  effects: ZabEffects,
): boolean {
  if (reign.phase === "gathering" || reign.phase === "choosing") {
    reign.joined.set(from, acceptedEpoch);
    chooseEpoch(state, reign, effects);
    return true;
  }
  if (acceptedEpoch > reign.epoch) return false;
  effects.send(from, { type: "NEWEPOCH", epoch: reign.epoch });
  return true;
}

/** The leader's promise is on its own disk now. Only then does it count itself. */
export function leaderStored(
  state: ZabState,
  reign: Reign,
  { type, epoch }: ZabPending,
  now: number,
  effects: ZabEffects,
): void {
  if (epoch !== reign.epoch) return;
  if (type === "history") {
    reign.synced.add(state.id);
    establish(state, reign, now, effects);
    return;
  }
  reign.phase = "proposing";
  const message = { type: "NEWEPOCH", epoch } as const;
  for (const peer of reign.joined.keys()) if (peer !== state.id) effects.send(peer, message);
  reign.accepted.add(state.id);
  synchronise(state, reign, effects);
}

/**
 * Until a quorum has accepted, a follower with a newer history is not counted: this leader must not be the one to cut that history off. Afterwards the follower may join: a quorum has shown that the
 * surplus of its history was never chosen.
 */
export function hearAccepted(
  state: ZabState,
  reign: Reign,
  from: NodeId,
  accepted: { readonly currentEpoch: number; readonly zxid: number; readonly counts: boolean },
  effects: ZabEffects,
): void {
  if (reign.phase !== "proposing") {
    effects.send(from, { type: "NEWLEADER", epoch: reign.epoch, zxid: state.zxid });
    return;
  }
  if (!accepted.counts) return;
  const own = { peerEpoch: state.currentEpoch, zxid: state.zxid };
  if (compareHistories({ peerEpoch: accepted.currentEpoch, zxid: accepted.zxid }, own) > 0) {
    effects.explain("a follower is ahead of its leader: not counted");
    return;
  }
  reign.accepted.add(from);
  synchronise(state, reign, effects);
}

function synchronise(state: ZabState, reign: Reign, effects: ZabEffects): void {
  if (!isQuorum(state, reign.accepted)) return;
  reign.phase = "synchronising";
  const message = { type: "NEWLEADER", epoch: reign.epoch, zxid: state.zxid } as const;
  for (const peer of reign.accepted) if (peer !== state.id) effects.send(peer, message);
  state.currentEpoch = reign.epoch;
  const ticket = persist(state, effects);
  state.pending.push({ type: "history", ticket, leader: state.id, epoch: reign.epoch });
}

export function hearSynced(state: ZabState, reign: Reign, from: NodeId, now: number, effects: ZabEffects): void {
  reign.synced.add(from);
  reign.heardAt.set(from, now);
  if (reign.phase === "established") effects.send(from, { type: "UPTODATE", epoch: reign.epoch });
  else establish(state, reign, now, effects);
}

function establish(state: ZabState, reign: Reign, now: number, effects: ZabEffects): void {
  if (!isQuorum(state, reign.synced)) return;
  reign.phase = "established";
  state.vote = { ...state.vote, peerEpoch: reign.epoch };
  effects.cancelTimer(LIMIT);
  effects.announce("leader", state.id, reign.epoch);
  const message = { type: "UPTODATE", epoch: reign.epoch } as const;
  for (const peer of reign.synced)
    if (peer !== state.id) {
      reign.heardAt.set(peer, now);
      effects.send(peer, message);
    }
  effects.setTimer(PING, state.timing.tickMs / 2);
}

/** False: no quorum was heard for `syncLimit`. This peer must look again. */
export function ping(state: ZabState, reign: Reign, now: number, effects: ZabEffects): boolean {
  const supporters = [state.id];
  for (const [peer, at] of reign.heardAt) if (now - at < state.timing.syncLimitMs) supporters.push(peer);
  if (!isQuorum(state, supporters)) return false;
  const message = { type: "PING", epoch: reign.epoch } as const;
  for (const peer of reign.heardAt.keys()) effects.send(peer, message);
  effects.setTimer(PING, state.timing.tickMs / 2);
  return true;
}

/**
 * An elector that looks again will not come. False: the electors that are left are no quorum; the peer must look again, and not wait until `initLimit` is over.
 * A vote of a later round, or a better one of the same, was cast after the one that elected; any other may only have been slow.
 */
export function keepsElectors(state: ZabState, reign: Reign, from: NodeId, vote: Vote): boolean {
  if (reign.phase !== "gathering") return true;
  const isLater =
    vote.round > state.vote.round || (vote.round === state.vote.round && isBetter(state, vote, state.vote));
  if (isLater) reign.electors.delete(from);
  return isQuorum(state, reign.electors);
}
