// The leader of the toy log: it sends the entries that are on its own disk, commits those that a majority has on disk, and answers reads that a majority has confirmed.
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import type { Proposed } from "../../../../protocols/log-node.ts";
import { append, applyTo, entryAt, persist } from "./log.ts";
import { HEARTBEAT, type ToyEffects, type ToyEntry, type ToyMessage, type ToyState } from "./state.ts";

type Appended = Extract<ToyMessage, { type: "APPENDED" }>;

/** One message has at most this many entries. */
const BATCH_MAX = 8;

/** The term and its first entry are one write: a crash keeps both or neither. */
export function appendNothing(state: ToyState, effects: ToyEffects): void {
  const entry = append(state, { kind: "nothing" });
  state.firstOfTerm = entry.index;
  persist(state, { term: state.term, entries: [entry] }, undefined, effects);
}

/** Called at each write that is done: entries on disk may be sent, and are counted. */
export function leadOn(state: ToyState, effects: ToyEffects): void {
  if (state.stored < state.firstOfTerm) return;
  if (!state.isLeading) {
    state.isLeading = true;
    effects.announce("leader", state.id, state.term);
  }
  sendAll(state, effects);
  commit(state, effects);
}

export function sendAll(state: ToyState, effects: ToyEffects): void {
  for (const peer of state.members) sendTo(state, peer, effects);
  effects.setTimer(HEARTBEAT, state.heartbeatMs);
}

/** Sends the entries that the peer lacks, as far as that is known; before the peer has answered, nothing but a question. */
export function sendTo(state: ToyState, peer: NodeId, effects: ToyEffects): void {
  if (peer === state.id) return;
  const { term, round, committed, snapshot } = state;
  const said = state.storedBy[peer] ?? -1;
  const previous = said < 0 ? state.stored : said;
  if (snapshot !== undefined && previous < snapshot.index)
    return effects.send(peer, { type: "SNAPSHOT", term, round, snapshot });
  effects.send(peer, { type: "APPEND", term, round, entries: after(state, previous), committed });
}

/** Returns only entries on the leader's own disk: an entry that is sent must not be lost by a crash of the leader. */
function after(state: ToyState, previous: number): readonly ToyEntry[] {
  const entries: ToyEntry[] = [];
  for (let index = previous + 1; index <= Math.min(state.stored, previous + BATCH_MAX); index++) {
    const entry = entryAt(state, index);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** An answer to an earlier life says nothing about the rounds of this one. A late answer makes a peer look further behind than it is, until the next. */
export function handleAppended(state: ToyState, from: NodeId, message: Appended, effects: ToyEffects): void {
  if (!state.isLeading || message.term !== state.term) return;
  const before = state.storedBy[from] ?? -1;
  state.storedBy[from] = message.stored;
  state.answered[from] = message.round;
  commit(state, effects);
  tryReads(state, effects);
  if (message.stored > before && message.stored < state.stored) sendTo(state, from, effects);
}

/** Commits up to the index that a majority has on disk. */
function commit(state: ToyState, effects: ToyEffects): void {
  const stored = state.members.map((id) => (id === state.id ? state.stored : (state.storedBy[id] ?? -1)));
  const byMajority = stored.toSorted((a, b) => b - a)[state.majority - 1] ?? 0;
  applyTo(state, byMajority, effects);
  tryReads(state, effects);
}

/** A read is answered when a majority has answered since it was asked, and an entry of this term is committed. */
export function tryReads(state: ToyState, effects: ToyEffects): void {
  if (state.committed < state.firstOfTerm) return;
  const isConfirmed = (round: number): boolean =>
    state.members.filter((id) => id === state.id || (state.answered[id] ?? 0) >= round).length >= state.majority;
  const ready = state.reads.filter(({ round }) => isConfirmed(round));
  state.reads = state.reads.filter(({ round }) => !isConfirmed(round));
  for (const { request } of ready) effects.readable(request);
}

export function refusal(state: ToyState): Extract<Proposed, { outcome: "refused" }> {
  return { outcome: "refused", why: "not-leader", leader: state.id === state.leader ? NOBODY : state.leader };
}
