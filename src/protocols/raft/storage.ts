// Term and vote on disk, and the rule for messages before they are there.
//
// Raft, figure 2: term and vote are on stable storage before a reply leaves. A node changes them in memory at once, asks for one write at the end of the input (a new term and the vote in it go together:
// a crash keeps both or neither), and withholds replies until that write and every earlier one are done. So no answer speaks of a term or a vote that a crash could undo. A candidate's question may do so
// (vote.ts); it promises nothing.
import type { NodeId } from "../node.ts";
import type { RaftEffects, RaftMessage, RaftState, RaftWrite } from "./state.ts";

/** Asks for a write if term or vote are not those that were last written. It is called at the end of every input. */
export function save(state: RaftState, effects: RaftEffects): void {
  if (state.term === state.savedTerm && state.vote === state.savedVote) return;
  state.savedTerm = state.term;
  state.savedVote = state.vote;
  state.ticket++;
  effects.persist(state.ticket, { term: state.term, vote: state.vote });
}

/** Tells whether a crash now would lose nothing. */
export function isDurable(state: RaftState): boolean {
  return state.durable === state.ticket && state.term === state.savedTerm && state.vote === state.savedVote;
}

/** Sends the message when everything that this node has decided so far is on disk. */
export function reply(state: RaftState, to: NodeId, message: RaftMessage, effects: RaftEffects): void {
  save(state, effects);
  if (state.durable === state.ticket) effects.send(to, message);
  else state.withheld.push({ ticket: state.ticket, to, message });
}

/** A write is done: the replies that waited for it may leave. */
export function release(state: RaftState, ticket: number, effects: RaftEffects): void {
  state.durable = Math.max(state.durable, ticket);
  while (state.withheld.length > 0 && (state.withheld[0]?.ticket ?? 0) <= state.durable) {
    const withheld = state.withheld.shift();
    if (withheld !== undefined) effects.send(withheld.to, withheld.message);
  }
}

/** Takes over the data that a restart finds on disk. */
export function recall(state: RaftState, image: RaftWrite | undefined): void {
  if (image === undefined) return;
  state.term = image.term;
  state.vote = image.vote;
  state.savedTerm = image.term;
  state.savedVote = image.vote;
}
