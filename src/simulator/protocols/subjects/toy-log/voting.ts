// How the toy finds a leader: a voter that has heard no leader for a while enters the next term and asks for votes. A member votes once in a term, and only for a candidate whose log is not behind its own
// (Raft, section 5.4.1). The time until a voter tries is drawn anew each time, so that two seldom try at once.
import { nextBetween } from "../../../../base/rng.ts";
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import { append, lastPlace, majorityOf, persist, sendWhenStored } from "./log.ts";
import { HEARTBEAT, type ToyEffects, type ToyMessage, type ToyState, WATCH } from "./state.ts";

type Want = Extract<ToyMessage, { type: "WANT" }>;

export function watch({ rng, heartbeatMs }: ToyState, effects: ToyEffects): void {
  effects.setTimer(WATCH, heartbeatMs * nextBetween(rng, 4, 12));
}

/** Another term, in which this node has voted for `vote`. Whoever leads in it, this node does so no longer. */
export function enter(state: ToyState, term: number, vote: NodeId, effects: ToyEffects): void {
  if (state.isLeading) watch(state, effects);
  effects.cancelTimer(HEARTBEAT);
  state.term = term;
  state.vote = vote;
  state.leader = NOBODY;
  state.grants = [];
  state.isLeading = false;
  state.firstOfTerm = Infinity;
  for (const { request } of state.reads) effects.unreadable(request, NOBODY);
  state.reads = [];
  persist(state, { ballot: { term, vote } }, effects);
  effects.announce(vote === state.id ? "candidate" : "follower", NOBODY, term);
}

/** A node that is no voter by its own log does not try. */
export function campaign(state: ToyState, effects: ToyEffects): void {
  watch(state, effects);
  if (!state.inForce.voters.includes(state.id)) return;
  enter(state, state.term + 1, state.id, effects);
  const { term } = state;
  for (const peer of state.nodes)
    if (peer !== state.id) sendWhenStored(state, peer, { type: "WANT", term, last: lastPlace(state) }, effects);
  sendWhenStored(state, state.id, { type: "GRANTED", term }, effects);
}

export function handleWant(state: ToyState, from: NodeId, { term, last }: Want, effects: ToyEffects): void {
  if (term > state.term) enter(state, term, NOBODY, effects);
  if (term < state.term || (state.vote !== NOBODY && state.vote !== from)) return;
  const own = lastPlace(state);
  if (last.term < own.term || (last.term === own.term && last.index < own.index)) return;
  if (state.vote === NOBODY) {
    state.vote = from;
    persist(state, { ballot: { term, vote: from } }, effects);
  }
  watch(state, effects);
  sendWhenStored(state, from, { type: "GRANTED", term }, effects);
}

/** A leader begins its term with an entry of nothing: by committing it, it learns which entries are committed. */
export function handleGranted(state: ToyState, from: NodeId, term: number, effects: ToyEffects): void {
  if (term !== state.term || state.vote !== state.id || state.firstOfTerm !== Infinity) return;
  if (!state.grants.includes(from)) state.grants.push(from);
  const { voters } = state.inForce;
  if (state.grants.filter((id) => voters.includes(id)).length < majorityOf(state)) return;
  state.firstOfTerm = append(state, { kind: "nothing" }, effects).index;
}
