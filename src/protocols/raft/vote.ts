// The vote (Raft, section 5.2): one per term and member, on disk before anybody hears of it, the own one not excepted.
//
// A candidate asks when its own vote is on disk, and not while it is being written: a candidate that had asked, crashed and forgotten would stand in the
// same term again, and count votes that were given to what it was before. That costs one disk write per election and is what makes a late vote of an
// earlier life a vote of an earlier term.
import { NOBODY, type NodeId } from "../protocol.ts";
import { isLed } from "./check-quorum.ts";
import { becomeLeader } from "./leader.ts";
import { isUpToDate } from "./log.ts";
import { becomeFollower, beginTerm, enterRole, waitForElection } from "./role.ts";
import type { RaftEffects, RaftMessage, RaftState } from "./state.ts";
import { isDurable, reply, save } from "./storage.ts";

type Vote = Extract<RaftMessage, { type: "VOTE" }>;
type Voted = Extract<RaftMessage, { type: "VOTED" }>;

export function becomeCandidate(state: RaftState, isTransfer: boolean, effects: RaftEffects): void {
  beginTerm(state, state.term + 1);
  enterRole(state, "candidate", effects);
  state.vote = state.id;
  state.isTransfer = isTransfer;
  effects.announce("candidate", NOBODY, state.term);
  save(state, effects);
}

/** The own vote is on disk, so it counts, and others may be asked for theirs. */
export function askForVotes(state: RaftState, effects: RaftEffects): void {
  if (state.role !== "candidate" || state.votes[state.id] === 1 || !isDurable(state)) return;
  const { term, log, isTransfer } = state;
  const message: RaftMessage = { type: "VOTE", term, log, isTransfer };
  for (const peer of state.peers) effects.send(peer, message);
  countVote(state, state.id);
  if (hasMajority(state)) becomeLeader(state, effects);
}

export function handleVote(state: RaftState, from: NodeId, vote: Vote, now: number, effects: RaftEffects): void {
  if (vote.term > state.term) {
    if (state.hasCheckQuorum && !vote.isTransfer && isLed(state, now))
      return effects.explain("a leader was heard a moment ago: the request is ignored, and so is its term");
    becomeFollower(state, vote.term, NOBODY, effects);
  }
  const isGranted = vote.term === state.term && mayVoteFor(state, from) && isUpToDate(vote.log, state.log);
  if (isGranted) grantVote(state, from, effects);
  reply(state, from, { type: "VOTED", term: state.term, isGranted }, effects);
}

/** In the current term: the same candidate again, or the first, while nobody leads. */
export function mayVoteFor(state: RaftState, candidate: NodeId): boolean {
  return state.vote === candidate || (state.vote === NOBODY && state.leader === NOBODY);
}

/** Whoever was about to stand itself lets this one go first. A vote that is given again gives nothing new. */
function grantVote(state: RaftState, candidate: NodeId, effects: RaftEffects): void {
  if (state.vote === candidate) return;
  state.vote = candidate;
  if (state.role === "pre-candidate") becomeFollower(state, state.term, NOBODY, effects);
  else waitForElection(state, effects);
}

/** A vote counts in its own term, for a candidate, once. */
export function handleVoted(state: RaftState, from: NodeId, voted: Voted, effects: RaftEffects): void {
  if (voted.term > state.term) return becomeFollower(state, voted.term, NOBODY, effects);
  if (state.role !== "candidate" || voted.term !== state.term || !voted.isGranted) return;
  countVote(state, from);
  if (hasMajority(state)) becomeLeader(state, effects);
}

export function countVote(state: RaftState, from: NodeId): void {
  state.votes[from] = 1;
}

export function hasMajority(state: RaftState): boolean {
  let count = state.votes[state.id] as number;
  for (const peer of state.peers) count += state.votes[peer] as number;
  return count >= state.quorum;
}
