// Discovery and synchronisation on the side of a follower. Two answers bind it, and each leaves only when it is on disk: ACKEPOCH (the follower enters this epoch, and no lesser one, and for no other
// leader) and ACKLEADER (it has this leader's history).
import type { NodeId } from "../node.ts";
import { LIMIT, type ZabPending, RESEND, RETRY, type ZabEffects, type ZabState } from "./state.ts";

export function follow(state: ZabState, effects: ZabEffects): void {
  effects.cancelTimer(RESEND);
  state.mode = "following";
  state.isFinalizing = false;
  effects.setTimer(LIMIT, state.timing.initLimitMs);
  applyToLeader(state, effects);
}

/** The follower repeats this until the leader has sent UPTODATE, because links lose messages. The leader answers with the message that comes next for this peer. */
export function applyToLeader(state: ZabState, effects: ZabEffects): void {
  effects.send(state.vote.leader, { type: "CEPOCH", acceptedEpoch: state.acceptedEpoch });
  effects.setTimer(RETRY, state.timing.tickMs);
}

export function persist(state: ZabState, effects: ZabEffects): number {
  const { acceptedEpoch, currentEpoch, zxid } = state;
  effects.persist(++state.ticket, { acceptedEpoch, currentEpoch, zxid });
  return state.ticket;
}

/** An epoch that was accepted before counts again for the same leader, and not at all for another one. */
export function hearNewEpoch(state: ZabState, from: NodeId, epoch: number, effects: ZabEffects): void {
  if (epoch < state.acceptedEpoch) return;
  if (epoch > state.acceptedEpoch) {
    state.acceptedEpoch = epoch;
    state.acceptedFor = from;
    const ticket = persist(state, effects);
    state.pending.push({ type: "promise", ticket, leader: from, epoch });
    effects.announce("candidate", 0, epoch);
  } else if (!isPending(state, "promise", epoch)) acceptEpoch(state, from, epoch, effects);
}

function isPending(state: ZabState, type: ZabPending["type"], epoch: number): boolean {
  return state.pending.some((pending) => pending.type === type && pending.epoch === epoch);
}

function acceptEpoch(state: ZabState, to: NodeId, epoch: number, effects: ZabEffects): void {
  const { currentEpoch, zxid } = state;
  effects.send(to, { type: "ACKEPOCH", epoch, currentEpoch, zxid, counts: state.acceptedFor === to });
}

/**
 * The history is written first, then the epoch that it belongs to. The other way round, a crash between the two would leave a peer that claims the newest epoch with an old history, and wins elections by
 * it.
 * NEWLEADER says that a quorum has accepted this epoch for this leader. So nobody else can lead in it, and it binds every peer that has not accepted a later one.
 */
export function hearNewLeader(state: ZabState, from: NodeId, epoch: number, zxid: number, effects: ZabEffects): void {
  if (epoch < state.acceptedEpoch) return;
  if (epoch === state.currentEpoch) {
    if (!isPending(state, "history", epoch)) effects.send(from, { type: "ACKLEADER", epoch });
    return;
  }
  if (epoch > state.acceptedEpoch) state.acceptedFor = from;
  state.acceptedEpoch = epoch;
  state.zxid = zxid;
  persist(state, effects);
  state.currentEpoch = epoch;
  const ticket = persist(state, effects);
  state.pending.push({ type: "history", ticket, leader: from, epoch });
}

/** The promise is on disk now; the leader hears of it, if this peer still follows it. */
export function followerStored(state: ZabState, { type, leader, epoch }: ZabPending, effects: ZabEffects): void {
  if (leader !== state.vote.leader || epoch !== state.acceptedEpoch) return;
  if (type === "promise") acceptEpoch(state, leader, epoch, effects);
  else effects.send(leader, { type: "ACKLEADER", epoch });
}

/** The peer has this epoch's history, and has accepted no later epoch meanwhile. */
function isPresent(state: ZabState, epoch: number): boolean {
  return epoch === state.currentEpoch && epoch === state.acceptedEpoch;
}

/** A quorum has the leader's history. The vote takes the epoch, so that newcomers find equal votes. */
export function hearUpToDate(state: ZabState, epoch: number, effects: ZabEffects): void {
  if (!isPresent(state, epoch)) return;
  state.isUpToDate = true;
  state.vote = { ...state.vote, peerEpoch: epoch };
  effects.cancelTimer(RETRY);
  effects.setTimer(LIMIT, state.timing.syncLimitMs);
  effects.announce("follower", state.vote.leader, epoch);
}

/** Only peers that the leader has told UPTODATE are pinged: a ping says it again, in case that was lost. */
export function hearPing(state: ZabState, from: NodeId, epoch: number, effects: ZabEffects): void {
  if (!isPresent(state, epoch)) return;
  if (!state.isUpToDate) hearUpToDate(state, epoch, effects);
  effects.setTimer(LIMIT, state.timing.syncLimitMs);
  effects.send(from, { type: "PONG", epoch });
}
