// Who is next: the ring without its dead. A node keeps an eye on its successor only, which is enough. When a member dies, the one before it notices; if that
// one is dead too, the one before it notices that first, and has then the other as its successor.
//
// Where a detector listens, the successor is asked every `heartbeatEvery` whether it lives, and so are those that were skipped before it: a partition heals by
// that. Where nobody listens (`told`), it is asked once when a round hangs.
import { heard, suspects, suspectsAt, watch } from "../detector/detector.ts";
import type { NodeId } from "../node.ts";
import { listens, PROBE, type RingEffects, type RingMessage, type RingState, SILENCE } from "./state.ts";

const PROBE_MESSAGE: RingMessage = { type: "PROBE" };

/** Whom to send to now. True: somebody else than before. */
export function chooseSuccessor(state: RingState, now: number, effects: RingEffects): boolean {
  const next = state.others.find((peer) => !state.dead.has(peer)) ?? state.id;
  if (next === state.successor) return false;
  state.successor = next;
  watchSuccessor(state, now, effects);
  return true;
}

/** From now on: the silence of an earlier life, or of somebody else, does not count. */
export function watchSuccessor(state: RingState, now: number, effects: RingEffects): void {
  effects.cancelTimer(SILENCE);
  if (!listens(state)) return;
  state.watch = state.successor === state.id ? undefined : watch(state.detector, now);
  armSilence(state, now, effects);
  probe(state, effects);
}

/** The successor, and the dead before it, in case they are not. */
export function probe(state: RingState, effects: RingEffects): void {
  for (const peer of state.others) {
    effects.send(peer, PROBE_MESSAGE);
    if (peer === state.successor) break;
  }
  effects.setTimer(PROBE, state.detector.everyMs);
}

/** Once, without a detector. */
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

/** Whether the silence of the successor has lasted long enough. */
export function isSilent(state: RingState, now: number, effects: RingEffects): boolean {
  if (state.successor === state.id) return false;
  if (state.watch === undefined || suspects(state.watch, now)) return true;
  armSilence(state, now, effects);
  return false;
}

function armSilence(state: RingState, now: number, effects: RingEffects): void {
  if (state.watch !== undefined) effects.setTimer(SILENCE, suspectsAt(state.watch) - now);
}
