// The toy's log in memory: entries after a snapshot, the index that is applied, and the writes that are under way.
import type { Membership } from "../../../../protocols/log-node.ts";
import type { Assignment } from "./machine.ts";
import type { PendingWrite, ToyEffects, ToyEntry, ToyImage, ToySnapshot, ToyState, ToyWrite } from "./state.ts";

export function lastOf({ snapshot, entries }: ToyState): number {
  return (snapshot?.index ?? 0) + entries.length;
}

export function entryAt({ snapshot, entries }: ToyState, index: number): ToyEntry | undefined {
  return entries[index - (snapshot?.index ?? 0) - 1];
}

export function membersOf({ members }: ToyState): Membership {
  return { voters: members, learners: [] };
}

type Content = { readonly kind: "proposal"; readonly proposal: Assignment } | { readonly kind: "nothing" };

/** As leader: appends at the end of the log. */
export function append(state: ToyState, content: Content): ToyEntry {
  const entry: ToyEntry = { index: lastOf(state) + 1, term: state.term, ...content };
  state.entries.push(entry);
  return entry;
}

/** Asks for a write; when it is done, the log is on disk up to its present end. */
export function persist(state: ToyState, write: ToyWrite, reply: PendingWrite["reply"], effects: ToyEffects): void {
  state.ticket++;
  state.pending.push({ ticket: state.ticket, last: lastOf(state), reply });
  effects.persist(state.ticket, write);
}

/** Applies committed entries, in order. A node never applies beyond its own log. */
export function applyTo(state: ToyState, committed: number, effects: ToyEffects): void {
  while (state.committed < Math.min(committed, lastOf(state))) {
    const entry = entryAt(state, state.committed + 1);
    if (entry === undefined) return;
    state.committed++;
    effects.apply(entry);
  }
}

/** The snapshot replaces the entries up to it. */
export function shorten(state: ToyState, snapshot: ToySnapshot): void {
  state.entries = state.entries.filter(({ index }) => index > snapshot.index);
  state.snapshot = snapshot;
}

/** Takes over the data that a restart finds. The content of a snapshot was committed; of the entries after it, that is not known. */
export function recall(state: ToyState, image: ToyImage | undefined, effects: ToyEffects): void {
  if (image === undefined) return;
  state.term = image.term;
  state.snapshot = image.snapshot;
  state.entries = [...image.entries];
  state.stored = lastOf(state);
  if (image.snapshot === undefined) return;
  state.committed = image.snapshot.index;
  effects.restore(image.snapshot);
}
