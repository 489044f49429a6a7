// A follower of the toy log: it takes the entries that follow its own log, and answers when they are on disk.
import type { NodeId } from "../../../../protocols/node.ts";
import { applyTo, lastOf, persist } from "./log.ts";
import type { PendingWrite, ToyEffects, ToyMessage, ToyState } from "./state.ts";

type Append = Extract<ToyMessage, { type: "APPEND" }>;
type SnapshotMessage = Extract<ToyMessage, { type: "SNAPSHOT" }>;

/** A late message from an earlier term of the leader has a first part of the leader's log, and is taken like any other. */
function hearLeader(state: ToyState, from: NodeId, term: number, effects: ToyEffects): void {
  if (term < state.term) return;
  state.term = term;
  effects.announce("follower", from, term);
}

/** The leader sends the entries after those that this disk has, as the follower told it, and a disk forgets nothing: there is no gap. */
export function handleAppend(state: ToyState, from: NodeId, message: Append, effects: ToyEffects): void {
  const { term, round, entries, committed } = message;
  hearLeader(state, from, term, effects);
  const fresh = entries.filter(({ index }) => index > lastOf(state));
  for (const entry of fresh) state.entries.push(entry);
  if (fresh.length > 0) persist(state, { entries: fresh }, { to: from, term, round }, effects);
  else tellStored(state, { to: from, term, round }, effects);
  applyTo(state, committed, effects);
}

/** A snapshot that is older than the follower's own log says nothing new: it was slow. */
export function handleSnapshot(state: ToyState, from: NodeId, message: SnapshotMessage, effects: ToyEffects): void {
  const { term, round, snapshot } = message;
  hearLeader(state, from, term, effects);
  if (snapshot.index <= lastOf(state)) return tellStored(state, { to: from, term, round }, effects);
  state.entries = [];
  state.snapshot = snapshot;
  state.committed = snapshot.index;
  effects.restore(snapshot);
  persist(state, { snapshot }, { to: from, term, round }, effects);
}

/** Tells only of entries that a crash would not take. */
export function tellStored(state: ToyState, reply: NonNullable<PendingWrite["reply"]>, effects: ToyEffects): void {
  const { to, term, round } = reply;
  effects.send(to, { type: "APPENDED", term, round, stored: state.stored });
}
