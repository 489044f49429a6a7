// A round: a node that sees the need begins it, every node that hears of it joins, and ELECTED decides it. Numbers of rounds grow, and are on disk before any message of the round leaves; so a message of
// an older round is recognised and dropped, and no node is in one round twice, not even in two lives.
import { NOBODY, type NodeId } from "../node.ts";
import {
  type ElectedToken,
  type ElectionToken,
  isBetter,
  listens,
  ROUND,
  type RingEffects,
  type RingMessage,
  type RingState,
} from "./state.ts";

/** The treatment of another node's token by an algorithm, in the round that the node is in. */
export type TakeToken = (state: RingState, token: ElectionToken, effects: RingEffects) => void;

export function beginRound(state: RingState, effects: RingEffects): void {
  enterRound(state, Math.max(state.round, state.met) + 1, effects);
  launch(state, effects);
}

/** Nothing of the last round is kept: neither the flag, nor the best, nor messages that were still to be sent. A leader stops leading. */
function enterRound(state: RingState, round: number, effects: RingEffects): void {
  state.round = round;
  state.met = Math.max(state.met, round);
  state.phase = "running";
  state.leader = NOBODY;
  state.best = { id: state.id, attr: state.attr };
  state.isParticipant = false;
  state.isAsked = listens(state);
  state.seen.clear();
  state.outbox = [];
  effects.persist(round, { round });
  effects.setTimer(ROUND, state.roundTimeoutMs);
}

/** Sends the node's own token. */
export function launch(state: RingState, effects: RingEffects): void {
  const { round, id, attr } = state;
  passToken(state, { type: "ELECTION", round, id, attr }, effects);
}

export function passToken(state: RingState, token: ElectionToken, effects: RingEffects): void {
  state.isParticipant = true;
  effects.announce("candidate", NOBODY, state.round);
  effects.setTimer(ROUND, state.roundTimeoutMs);
  pass(state, token, effects);
}

function pass(state: RingState, message: RingMessage, effects: RingEffects): void {
  if (state.stored >= state.round) effects.send(state.successor, message);
  else state.outbox.push(message);
}

export function sendStored(state: RingState, round: number, effects: RingEffects): void {
  state.stored = Math.max(state.stored, round);
  if (state.stored < state.round) return;
  for (const message of state.outbox) effects.send(state.successor, message);
  state.outbox = [];
}

export function hearElection(state: RingState, token: ElectionToken, takeToken: TakeToken, effects: RingEffects): void {
  const isOwn = token.id === state.id;
  if (token.round < state.round) effects.explain("a token of an older round: dropped");
  else if (token.round === state.round && state.phase !== "running")
    effects.explain("this round is over here: dropped");
  else if (isOwn && token.round === state.round) comeHome(state, effects);
  else if (isOwn) forget(state, token.round, effects);
  else {
    if (token.round > state.round) enterRound(state, token.round, effects);
    takeToken(state, token, effects);
  }
}

/** The node's own token has been around. */
function comeHome(state: RingState, effects: RingEffects): void {
  if (state.best.id === state.id) win(state, effects);
}

/** The token was sent before the disk was lost. The next round of this node is a later one. */
function forget(state: RingState, round: number, effects: RingEffects): void {
  state.met = Math.max(state.met, round);
  effects.explain("a token that this node does not remember: dropped");
}

function win(state: RingState, effects: RingEffects): void {
  const { id, attr, round } = state;
  takeLead(state, effects);
  pass(state, { type: "ELECTED", round, id, attr }, effects);
}

export function takeLead(state: RingState, effects: RingEffects): void {
  state.phase = "leading";
  state.leader = state.id;
  effects.cancelTimer(ROUND);
  effects.announce("leader", state.id, state.round);
}

export function hearElected(state: RingState, token: ElectedToken, effects: RingEffects): void {
  if (token.round < state.round) return effects.explain("ELECTED of an older round: dropped");
  // This is the winner's own token, come round; or one that came twice; or one of a round of an earlier life.
  if (token.round === state.round && state.phase !== "running") return;
  if (token.id === state.id) return forget(state, token.round, effects);
  if (token.round > state.round) enterRound(state, token.round, effects);
  if (isBetter(state, token)) {
    effects.explain("elected is a lesser one, who did not see this node: begin a new round");
    beginRound(state, effects);
  } else if (state.dead.has(token.id)) {
    effects.explain("the elected has died meanwhile: begin a new round");
    beginRound(state, effects);
  } else {
    follow(state, token.id, effects);
    pass(state, token, effects);
  }
}

export function follow(state: RingState, leader: NodeId, effects: RingEffects): void {
  state.phase = "following";
  state.leader = leader;
  effects.cancelTimer(ROUND);
  effects.announce("follower", leader, state.round);
}
