// Fast Leader Election: every peer proposes itself, adopts any better vote, and stops when a quorum proposes the same and nothing better comes for `finalizeWait`. There is one function per rule, with
// the purpose of the rule above it.
import type { NodeId } from "../node.ts";
import {
  FINALIZE,
  LIMIT,
  type Notification,
  PING,
  RESEND,
  RETRY,
  type Vote,
  type ZabEffects,
  type ZabState,
} from "./state.ts";
import { isBetter, isQuorum, isSameChoice, isSameVote, votersFor, weightOf } from "./vote.ts";

/** The result of a round: this vote, which is now the peer's own. */
export interface RoundResult {
  readonly leader: NodeId;
  readonly electors: readonly NodeId[];
}

/** Begins a new round, whatever was before. */
export function look(state: ZabState, effects: ZabEffects): void {
  for (const timer of [FINALIZE, LIMIT, RETRY, PING]) effects.cancelTimer(timer);
  state.mode = "looking";
  state.reign = undefined;
  state.isUpToDate = false;
  state.isFinalizing = false;
  state.round++;
  state.received.clear();
  state.settled.clear();
  state.vote = initialVote(state);
  state.resendMs = state.timing.minNotificationMs;
  effects.announce("candidate", 0, state.acceptedEpoch);
  notifyAll(state, effects);
  effects.setTimer(RESEND, state.resendMs);
}

function initialVote(state: ZabState): Vote {
  return { leader: state.id, zxid: state.zxid, round: state.round, peerEpoch: state.currentEpoch };
}

/** The peer also notifies itself: its own vote is counted like any other. */
function notifyAll(state: ZabState, effects: ZabEffects): void {
  const message = notificationOf(state);
  for (const peer of state.voters) effects.send(peer, message);
}

function notificationOf({ vote, mode }: ZabState): Notification {
  const { leader, zxid, round, peerEpoch } = vote;
  return { type: "NOTIFICATION", leader, zxid, round, peerEpoch, state: mode };
}

/** The answer has the current vote and that vote's round: so a peer that looks can join, or learn that it is behind. */
export function answer(state: ZabState, to: NodeId, effects: ZabEffects): void {
  if (to !== state.id) effects.send(to, notificationOf(state));
}

/** Checks a message, because anything may come over a wire. */
export function isSound(
  state: ZabState,
  from: NodeId,
  { leader, zxid, round, peerEpoch, state: mode }: Notification,
): boolean {
  const isKnown = weightOf(state, from) !== undefined && weightOf(state, leader) !== undefined;
  const isCounted = Number.isSafeInteger(zxid) && Number.isSafeInteger(round) && Number.isSafeInteger(peerEpoch);
  return isKnown && isCounted && (mode === "looking" || mode === "following" || mode === "leading");
}

/** Called while looking. Returns the decision, if this was the last vote that was missing. */
export function hear(state: ZabState, from: NodeId, vote: Notification, effects: ZabEffects): RoundResult | undefined {
  if (vote.state === "looking" && vote.round < state.round) {
    effects.explain("a vote of an earlier round: it is told what this round is");
    answer(state, from, effects);
    return undefined;
  }
  if (state.isFinalizing && !interrupts(state, from, vote, effects)) return undefined;
  if (vote.state !== "looking") return hearSettled(state, from, vote, effects);
  hearLooking(state, from, vote, effects);
  return undefined;
}

/**
 * During the last wait only a better vote matters. Any other vote starts the wait anew, since more may be on their way, but only once for each peer. Otherwise a few peers that repeat themselves more
 * often than `finalizeWait` would keep this one waiting for ever, and they would wait for its vote.
 */
function interrupts(state: ZabState, from: NodeId, vote: Notification, effects: ZabEffects): boolean {
  if (!isBetter(state, vote, state.vote)) {
    if (!state.waitedFor.has(from)) effects.setTimer(FINALIZE, state.timing.finalizeWaitMs);
    state.waitedFor.add(from);
    return false;
  }
  effects.explain("a better vote, just in time: not final");
  effects.cancelTimer(FINALIZE);
  effects.setTimer(RESEND, state.resendMs);
  state.isFinalizing = false;
  return true;
}

/**
 * In a newer round the votes counted so far are void, and the vote is compared with this peer's first one. Its present vote may be for a candidate that is not in the new round, and that nobody there
 * will vote for.
 */
function hearLooking(state: ZabState, from: NodeId, vote: Notification, effects: ZabEffects): void {
  if (vote.round > state.round) {
    state.round = vote.round;
    state.received.clear();
    const own = initialVote(state);
    propose(state, isBetter(state, vote, own) ? vote : own, effects);
  } else if (isBetter(state, vote, state.vote)) propose(state, vote, effects);
  state.received.set(from, vote);
  if (!isQuorum(state, electorsOf(state))) return;
  state.isFinalizing = true;
  state.waitedFor.clear();
  effects.cancelTimer(RESEND);
  effects.setTimer(FINALIZE, state.timing.finalizeWaitMs);
}

function propose(state: ZabState, { leader, zxid, peerEpoch }: Vote, effects: ZabEffects): void {
  state.vote = { leader, zxid, round: state.round, peerEpoch };
  notifyAll(state, effects);
  effects.setTimer(RESEND, state.resendMs);
}

function electorsOf(state: ZabState): readonly NodeId[] {
  return votersFor(state.received, (heard) => isSameVote(heard, state.vote));
}

/** The sender does not look: if a quorum has chosen the same leader, and that leader says so itself, this peer joins. */
function hearSettled(state: ZabState, from: NodeId, vote: Notification, effects: ZabEffects): RoundResult | undefined {
  if (vote.round === state.round) {
    state.received.set(from, vote);
    const electors = votersFor(state.received, (heard) => isSameChoice(heard, vote));
    if (isQuorum(state, electors) && isLeaderSure(state, state.received, vote)) return join(state, vote, electors);
  }
  state.settled.set(from, vote);
  const electors = votersFor(state.settled, (heard) => isSameChoice(heard, vote));
  if (!isQuorum(state, electors) || !isLeaderSure(state, state.settled, vote)) return undefined;
  effects.explain("a quorum is settled: it joins");
  return join(state, vote, electors);
}

/**
 * ZooKeeper's checkLeader. A peer believes that another one leads only if that one says so itself: otherwise the followers of a dead leader would send each other to it for ever. A peer may hear from
 * others that it leads itself, but only in the round in which it looks: followers of an earlier life, or of an earlier round, do not make a leader of a peer that has moved on.
 */
function isLeaderSure(state: ZabState, votes: ReadonlyMap<NodeId, Notification>, { leader, round }: Vote): boolean {
  return leader === state.id ? round === state.round : votes.get(leader)?.state === "leading";
}

function join(state: ZabState, { leader, zxid, round, peerEpoch }: Vote, electors: readonly NodeId[]): RoundResult {
  state.round = round;
  state.vote = { leader, zxid, round, peerEpoch };
  return { leader, electors };
}

/** No better vote has come. */
export function finalize(state: ZabState): RoundResult {
  return { leader: state.vote.leader, electors: electorsOf(state) };
}

/**
 * There is no quorum yet: perhaps nobody has heard this peer. The wait counts from its own last notification. ZooKeeper counts from the last one that it heard, which is fine there, since its connections
 * repeat the last message when they are made anew; on links that lose messages in silence, a peer that always hears another one first would never speak.
 */
export function resend(state: ZabState, effects: ZabEffects): void {
  notifyAll(state, effects);
  state.resendMs = Math.min(state.resendMs * 2, state.timing.maxNotificationMs);
  effects.setTimer(RESEND, state.resendMs);
}
