// Finds the next node: the ring without its dead. A node watches its successor only, which is enough. When a member dies, its predecessor notices. If the predecessor is dead too, the node before the
// predecessor notices that first, and then has the dead member as its successor.
//
// Where a detector listens, the successor is asked every `heartbeatEvery` whether it lives, and so are the nodes that were skipped before it: this heals a partition. Where no detector listens (`told`),
// the successor is asked once when a round hangs.
import { heard, suspects, suspectsAt, watch } from "../detector/detector.ts";
import type { NodeId } from "../node.ts";
import { listens, PROBE, type RingEffects, type RingMessage, type RingState, SILENCE } from "./state.ts";

const PROBE_MESSAGE: RingMessage = { type: "PROBE" };

/** Chooses the node to send to now. True: it is another one than before. */
export function chooseSuccessor(state: RingState, now: number, effects: RingEffects): boolean {
  const next = state.others.find((peer) => !state.dead.has(peer)) ?? state.id;
  if (next === state.successor) return false;
  state.successor = next;
  watchSuccessor(state, now, effects);
  return true;
}

/** The watch begins now: the silence of an earlier life, or of another node, does not count. */
export function watchSuccessor(state: RingState, now: number, effects: RingEffects): void {
  effects.cancelTimer(SILENCE);
  if (!listens(state)) return;
  state.watch = state.successor === state.id ? undefined : watch(state.detector, now);
  armSilence(state, now, effects);
  probe(state, effects);
}

/** Asks the successor, and the nodes before it that are taken for dead, in case they are not. */
export function probe(state: RingState, effects: RingEffects): void {
  for (const peer of state.others) {
    effects.send(peer, PROBE_MESSAGE);
    if (peer === state.successor) break;
  }
  effects.setTimer(PROBE, state.detector.everyMs);
}

/** Asks once, without a detector. */
export function askSuccessor(state: RingState, effects: RingEffects): void {
  state.isAsked = true;
  if (state.successor === state.id) return;
  effects.send(state.successor, PROBE_MESSAGE);
  effects.setTimer(SILENCE, state.answerTimeoutMs);
}

export function hearAlive(state: RingState, from: NodeId, now: number, effects: RingEffects): void {
  if (from !== state.successor) return;
  if (state.watch === undefined) return effects.cancelTimer(SILENCE);
  heard(state.watch, now);
  armSilence(state, now, effects);
}

/** Tells whether the silence of the successor has lasted long enough. */
export function isSilent(state: RingState, now: number, effects: RingEffects): boolean {
  if (state.successor === state.id) return false;
  if (state.watch === undefined || suspects(state.watch, now)) return true;
  armSilence(state, now, effects);
  return false;
}

function armSilence(state: RingState, now: number, effects: RingEffects): void {
  if (state.watch !== undefined) effects.setTimer(SILENCE, suspectsAt(state.watch) - now);
}
