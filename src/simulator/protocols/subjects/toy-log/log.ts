// The toy's log in memory: entries after a snapshot, the index that is applied, the members that are in force, and the writes that are under way.
import type { LogPlace, Membership } from "../../../../protocols/log-node.ts";
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import type { Assignment } from "./machine.ts";
import type { ToyEffects, ToyEntry, ToyImage, ToyMessage, ToySnapshot, ToyState, ToyWrite } from "./state.ts";

export function lastOf({ snapshot, entries }: ToyState): number {
  return (snapshot?.index ?? 0) + entries.length;
}

export function entryAt({ snapshot, entries }: ToyState, index: number): ToyEntry | undefined {
  return entries[index - (snapshot?.index ?? 0) - 1];
}

/** The term of the entry at `index`; undefined if it is compacted, or not there. */
export function termAt(state: ToyState, index: number): number | undefined {
  const { index: base, term } = state.snapshot ?? { index: 0, term: 0 };
  return index === base ? term : entryAt(state, index)?.term;
}

export function lastPlace(state: ToyState): LogPlace {
  const index = lastOf(state);
  return { index, term: termAt(state, index) ?? 0 };
}

/** The members after the entry at `index`. */
export function membersAt({ nodes, snapshot, entries }: ToyState, index: number): Membership {
  const change = entries.findLast((entry) => entry.kind === "members" && entry.index <= index);
  if (change?.kind === "members") return change.members;
  return snapshot?.members ?? { voters: nodes, learners: [] };
}

export function majorityOf({ inForce }: ToyState): number {
  return (inForce.voters.length >> 1) + 1;
}

type Content =
  | { readonly kind: "proposal"; readonly proposal: Assignment }
  | { readonly kind: "members"; readonly members: Membership }
  | { readonly kind: "nothing" };

/** As leader: appends at the end of the log, and writes it. */
export function append(state: ToyState, content: Content, effects: ToyEffects): ToyEntry {
  const entry: ToyEntry = { index: lastOf(state) + 1, term: state.term, ...content };
  state.entries.push(entry);
  if (entry.kind === "members") state.inForce = entry.members;
  persist(state, { entries: [entry] }, effects);
  return entry;
}

/** As follower: takes entries that follow a place that both logs have. From the first that differs on, its own entries were never committed, and go. */
export function take(state: ToyState, entries: readonly ToyEntry[], effects: ToyEffects): void {
  const base = state.snapshot?.index ?? 0;
  const fresh = entries.filter(({ index, term }) => index > base && entryAt(state, index)?.term !== term);
  const from = fresh[0]?.index;
  if (from === undefined) return;
  cutFrom(state, from);
  state.entries.push(...fresh);
  state.inForce = membersAt(state, Infinity);
  persist(state, { from, entries: fresh }, effects);
}

/** A write that is under way no longer brings the log on disk further than to the cut. */
function cutFrom(state: ToyState, from: number): void {
  state.entries = state.entries.filter(({ index }) => index < from);
  state.stored = Math.min(state.stored, from - 1);
  for (const write of state.pending) write.last = Math.min(write.last, from - 1);
}

/** Asks for a write; when it is done, the log is on disk up to its present end. */
export function persist(state: ToyState, write: ToyWrite, effects: ToyEffects): void {
  state.ticket++;
  state.pending.push({ ticket: state.ticket, last: lastOf(state), letters: [] });
  effects.persist(state.ticket, write);
}

/** Sends when everything that was to be written by now is on disk: a crash does not take back what the message says. */
export function sendWhenStored(state: ToyState, to: NodeId, message: ToyMessage, effects: ToyEffects): void {
  const write = state.pending.at(-1);
  if (write === undefined) effects.send(to, message);
  else write.letters.push({ to, message });
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

/** As follower: the snapshot replaces the whole log, which does not have its last entry. */
export function install(state: ToyState, snapshot: ToySnapshot, effects: ToyEffects): void {
  cutFrom(state, 1);
  state.snapshot = snapshot;
  state.inForce = snapshot.members;
  state.committed = snapshot.index;
  effects.restore(snapshot);
  persist(state, { from: 1, snapshot }, effects);
}

/** Takes over the data that a restart finds. The content of a snapshot was committed; of the entries after it, that is not known. */
export function recall(state: ToyState, image: ToyImage | undefined, effects: ToyEffects): void {
  if (image === undefined) return;
  state.term = image.ballot.term;
  state.vote = image.ballot.vote;
  state.snapshot = image.snapshot;
  state.entries = [...image.entries];
  state.inForce = membersAt(state, Infinity);
  state.stored = lastOf(state);
  if (image.snapshot === undefined) return;
  state.committed = image.snapshot.index;
  effects.restore(image.snapshot);
}

const EMPTY: ToyImage = { ballot: { term: 0, vote: NOBODY }, snapshot: undefined, entries: [] };

/** What is on a disk after a write. */
export function fold(before: ToyImage | undefined, write: ToyWrite): ToyImage {
  const image = before ?? EMPTY;
  const { ballot = image.ballot, from = Infinity, entries = [], snapshot } = write;
  const all = [...image.entries.filter(({ index }) => index < from), ...entries];
  if (snapshot === undefined) return { ballot, snapshot: image.snapshot, entries: all };
  return { ballot, snapshot, entries: all.filter(({ index }) => index > snapshot.index) };
}
