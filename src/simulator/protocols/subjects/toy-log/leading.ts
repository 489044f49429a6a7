// The leader of the toy log: it sends what its followers lack, commits those that a majority has on disk, answers reads that a majority has confirmed, and changes members one at a time.
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import type { MemberChange, Membership, Proposed, WhyRefused } from "../../../../protocols/log-node.ts";
import { append, applyTo, entryAt, lastOf, majorityOf, termAt } from "./log.ts";
import { HEARTBEAT, type ToyEffects, type ToyEntry, type ToyMessage, type ToyState, WATCH } from "./state.ts";
import { enter } from "./voting.ts";

type Appended = Extract<ToyMessage, { type: "APPENDED" }>;

/** One message has at most this many entries. */
const BATCH_MAX = 4;

/** Called at each write that is done: entries on disk may be sent, and are counted. */
export function leadOn(state: ToyState, effects: ToyEffects): void {
  if (state.stored < state.firstOfTerm) return;
  if (!state.isLeading) {
    state.isLeading = true;
    state.leader = state.id;
    state.storedBy.fill(0);
    state.next.fill(state.stored + 1);
    state.answered.fill(0);
    state.round = 0;
    effects.cancelTimer(WATCH);
    effects.announce("leader", state.id, state.term);
  }
  sendAll(state, effects);
  commit(state, effects);
}

export function sendAll(state: ToyState, effects: ToyEffects): void {
  for (const peer of state.nodes) sendTo(state, peer, effects);
  effects.setTimer(HEARTBEAT, state.heartbeatMs);
}

/** Sends the entries that the peer lacks, as far as that is known. */
export function sendTo(state: ToyState, peer: NodeId, effects: ToyEffects): void {
  if (peer === state.id) return;
  const { term, round, committed, snapshot } = state;
  const index = (state.next[peer] ?? 1) - 1;
  if (snapshot !== undefined && index < snapshot.index)
    return effects.send(peer, { type: "SNAPSHOT", term, round, snapshot });
  const previous = { index, term: termAt(state, index) ?? 0 };
  effects.send(peer, { type: "APPEND", term, round, previous, entries: after(state, index), committed });
}

/** Some of them may not be on the leader's own disk yet: it counts itself only up to where they are. */
function after(state: ToyState, previous: number): readonly ToyEntry[] {
  const entries: ToyEntry[] = [];
  for (let index = previous + 1; index <= previous + BATCH_MAX; index++) {
    const entry = entryAt(state, index);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** An answer to an earlier term says nothing about the rounds and the log of this one. */
export function handleAppended(state: ToyState, from: NodeId, message: Appended, effects: ToyEffects): void {
  if (message.term > state.term) return enter(state, message.term, NOBODY, effects);
  if (!state.isLeading || message.term !== state.term) return;
  state.answered[from] = Math.max(state.answered[from] ?? 0, message.round);
  const [said, next] = [state.storedBy[from] ?? 0, state.next[from] ?? 1];
  if (message.isMatch) state.storedBy[from] = Math.max(said, message.upTo);
  const stored = state.storedBy[from] ?? 0;
  state.next[from] = Math.max(stored + 1, message.isMatch ? next : Math.min(next, message.upTo));
  commit(state, effects);
  tryReads(state, effects);
  const hasMoved = stored > said || state.next[from] < next;
  if (hasMoved && stored < lastOf(state)) sendTo(state, from, effects);
}

/** Commits up to the index that a majority has on disk, and only through an entry of its own term (Raft, section 5.4.2). */
function commit(state: ToyState, effects: ToyEffects): void {
  const stored = state.inForce.voters.map((id) => (id === state.id ? state.stored : (state.storedBy[id] ?? 0)));
  const byMajority = stored.toSorted((a, b) => b - a)[majorityOf(state) - 1] ?? 0;
  if (byMajority >= state.firstOfTerm) applyTo(state, byMajority, effects);
  tryReads(state, effects);
}

/** A read is answered when a majority has answered since it was asked, and an entry of this term is committed. */
export function tryReads(state: ToyState, effects: ToyEffects): void {
  if (state.committed < state.firstOfTerm) return;
  const { voters } = state.inForce;
  const isConfirmed = (round: number): boolean =>
    voters.filter((id) => id === state.id || (state.answered[id] ?? 0) >= round).length >= majorityOf(state);
  const ready = state.reads.filter(({ round }) => isConfirmed(round));
  state.reads = state.reads.filter(({ round }) => !isConfirmed(round));
  for (const { request } of ready) effects.readable(request);
}

/** One change at a time: majorities before and after share a member. The leader has to know what is committed, so an entry of its own term comes first (Ongaro's mail to raft-dev of 2015). */
export function change(state: ToyState, wish: MemberChange, effects: ToyEffects): Proposed {
  if (!state.isLeading) return refusal(state);
  if (wish.type === "remove" && wish.node === state.id) return refusal(state, "not-supported");
  const members = changed(state, wish);
  if (members === undefined) return refusal(state, "no-such-change");
  if (state.committed < state.firstOfTerm || isChangePending(state)) return refusal(state, "change-pending");
  const { index, term } = append(state, { kind: "members", members }, effects);
  return { outcome: "appended", index, term };
}

function isChangePending({ entries, committed }: ToyState): boolean {
  return entries.some(({ kind, index }) => kind === "members" && index > committed);
}

function changed({ nodes, inForce }: ToyState, { type, node }: MemberChange): Membership | undefined {
  const { voters, learners } = inForce;
  const [isVoter, isLearner] = [voters.includes(node), learners.includes(node)];
  const without = (ids: readonly NodeId[]): readonly NodeId[] => ids.filter((id) => id !== node);
  if (type === "remove")
    return isVoter || isLearner ? { voters: without(voters), learners: without(learners) } : undefined;
  if (type === "promote") return isLearner ? { voters: [...voters, node], learners: without(learners) } : undefined;
  return isVoter || isLearner || !nodes.includes(node) ? undefined : { voters, learners: [...learners, node] };
}

export function refusal(
  { id, leader, isLeading }: ToyState,
  why: WhyRefused = "not-leader",
): Extract<Proposed, { outcome: "refused" }> {
  return { outcome: "refused", why, leader: !isLeading && leader === id ? NOBODY : leader };
}
