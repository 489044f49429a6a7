// A follower of the toy log: it takes the entries of the leader in place of those of its own that differ, and answers when they are on disk.
import type { NodeId } from "../../../../protocols/node.ts";
import { applyTo, entryAt, install, lastOf, sendWhenStored, take, termAt } from "./log.ts";
import type { ToyEffects, ToyMessage, ToyState } from "./state.ts";
import { enter, watch } from "./voting.ts";

type Append = Extract<ToyMessage, { type: "APPEND" }>;
type SnapshotMessage = Extract<ToyMessage, { type: "SNAPSHOT" }>;

/**
 * Returns whether the sender leads in this node's term. The answer to an older leader has the newer term, and that node may lead in the newer term by the time the answer arrives. So the answer leaves out the
 * round that was asked for, which would confirm a read of the newer term.
 */
function heedsLeader(state: ToyState, from: NodeId, term: number, effects: ToyEffects): boolean {
  if (term < state.term) {
    sendWhenStored(state, from, { type: "APPENDED", term: state.term, round: 0, isMatch: false, upTo: 0 }, effects);
    return false;
  }
  if (term > state.term) enter(state, term, from, effects);
  state.leader = from;
  effects.announce("follower", from, term);
  watch(state, effects);
  return true;
}

/** A place that a snapshot has replaced was committed, and so matches. */
function matches(state: ToyState, { previous }: Append): boolean {
  return previous.index < (state.snapshot?.index ?? 0) || termAt(state, previous.index) === previous.term;
}

export function handleAppend(state: ToyState, from: NodeId, message: Append, effects: ToyEffects): void {
  const { term, round, previous, entries, committed } = message;
  if (!heedsLeader(state, from, term, effects)) return;
  if (!matches(state, message)) {
    const upTo = Math.min(previous.index, lastOf(state) + 1);
    return sendWhenStored(state, from, { type: "APPENDED", term, round, isMatch: false, upTo }, effects);
  }
  take(state, entries, effects);
  const upTo = previous.index + entries.length;
  sendWhenStored(state, from, { type: "APPENDED", term, round, isMatch: true, upTo }, effects);
  applyTo(state, Math.min(committed, upTo), effects);
}

/** A snapshot whose last entry the log has, or had, says nothing new but that it is committed. */
export function handleSnapshot(state: ToyState, from: NodeId, message: SnapshotMessage, effects: ToyEffects): void {
  const { term, round, snapshot } = message;
  if (!heedsLeader(state, from, term, effects)) return;
  const { index } = snapshot;
  if (index > state.committed && entryAt(state, index)?.term !== snapshot.term) install(state, snapshot, effects);
  applyTo(state, index, effects);
  sendWhenStored(state, from, { type: "APPENDED", term, round, isMatch: true, upTo: index }, effects);
}
