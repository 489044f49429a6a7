// The vote (Raft, section 5.2): each member has one per term, and it is on disk before it counts, also a member's vote for itself.
//
// A candidate asks while its own vote is being written: asking is no vote, and this saves the time of one write per election (thesis, section 10.2.1, has the same for entries). If it crashes before the
// write is done, it has not voted, and may vote for another in that term; then it is no candidate in it. Or it may stand in that term again and receive, late, votes that were granted to its earlier
// life: those are votes for it in that term, and there is one per member.
import { NOBODY, type NodeId } from "../node.ts";
import { isLed } from "./check-quorum.ts";
import { becomeLeader } from "./leader.ts";
import { isUpToDate, logOnDisk } from "./log.ts";
import { becomeFollower, beginTerm, enterRole, waitForElection } from "./role.ts";
import type { RaftEffects, RaftMessage, RaftState } from "./state.ts";
import { isDurable, reply, save } from "./storage.ts";

type RaftVote = Extract<RaftMessage, { type: "VOTE" }>;
type Voted = Extract<RaftMessage, { type: "VOTED" }>;

export function becomeCandidate(state: RaftState, isTransfer: boolean, effects: RaftEffects): void {
  beginTerm(state, state.term + 1);
  enterRole(state, "candidate", effects);
  state.vote = state.id;
  state.isTransfer = isTransfer;
  effects.announce("candidate", NOBODY, state.term);
  save(state, effects);
  const message: RaftMessage = { type: "VOTE", term: state.term, log: logOnDisk(state), isTransfer };
  for (const peer of state.peers) effects.send(peer, message);
}

/** Called at each write that is done. While a node is candidate its last write is the one that holds its own vote. */
export function countOwnVote(state: RaftState, effects: RaftEffects): void {
  if (state.role !== "candidate" || !isDurable(state)) return;
  countVote(state, state.id);
  if (hasMajority(state)) becomeLeader(state, effects);
}

export function handleVote(state: RaftState, from: NodeId, vote: RaftVote, now: number, effects: RaftEffects): void {
  if (vote.term > state.term) {
    if (state.hasCheckQuorum && !vote.isTransfer && isLed(state, now))
      return effects.explain("a leader was heard a moment ago: the request is ignored, and so is its term");
    becomeFollower(state, vote.term, NOBODY, effects);
  }
  const isGranted = vote.term === state.term && mayVoteFor(state, from) && isUpToDate(vote.log, state.log);
  if (isGranted) grantVote(state, from, effects);
  reply(state, from, { type: "VOTED", term: state.term, isGranted }, effects);
}

/** In the current term a member may vote for the same candidate again, or for the first one, while it knows no leader. */
export function mayVoteFor(state: RaftState, candidate: NodeId): boolean {
  return state.vote === candidate || (state.vote === NOBODY && state.leader === NOBODY);
}

/** A member that was about to stand itself lets this candidate go first. A vote that is given again changes nothing. */
function grantVote(state: RaftState, candidate: NodeId, effects: RaftEffects): void {
  if (state.vote === candidate) return;
  state.vote = candidate;
  if (state.role === "pre-candidate") becomeFollower(state, state.term, NOBODY, effects);
  else waitForElection(state, effects);
}

/** A vote counts once, in its own term, and only for a candidate. */
export function handleVoted(state: RaftState, from: NodeId, voted: Voted, effects: RaftEffects): void {
  if (voted.term > state.term) return becomeFollower(state, voted.term, NOBODY, effects);
  if (state.role !== "candidate" || voted.term !== state.term || !voted.isGranted) return;
  countVote(state, from);
  if (hasMajority(state)) becomeLeader(state, effects);
}

export function countVote(state: RaftState, from: NodeId): void {
  state.votes[from] = 1;
}

/** The node's own vote is always one of them: a member that leads in a term has that term on its disk. */
export function hasMajority(state: RaftState): boolean {
  if (state.votes[state.id] === 0) return false;
  let count = 1;
  for (const peer of state.peers) count += state.votes[peer] as number;
  return count >= state.quorum;
}
