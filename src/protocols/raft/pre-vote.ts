// PreVote (thesis, section 9.6): a member asks before it stands. A member that cannot win raises nobody's term, so a member that was cut off, or that cannot hear the leader, deposes nobody when it is
// heard again.
//
// A pre-vote promises nothing: it is not written down, sets no timer and changes no term, and a member that grants one may grant another. A granted one carries the term that was asked for, which nobody
// may take for a term that has begun. A refusal carries the term of the member that refuses, and the asker adopts it: otherwise a member that is behind in terms, with the only log that is long enough,
// would ask in vain for ever (etcd 8243, 8501). For the same reason an outdated question is refused and not dropped.
import { NOBODY, type NodeId } from "../node.ts";
import { isLed } from "./check-quorum.ts";
import { isUpToDate, logOnDisk } from "./log.ts";
import { becomeFollower, enterRole } from "./role.ts";
import type { RaftEffects, RaftMessage, RaftState } from "./state.ts";
import { reply } from "./storage.ts";
import { becomeCandidate, countVote, hasMajority, mayVoteFor } from "./vote.ts";

type PreVote = Extract<RaftMessage, { type: "PRE-VOTE" }>;
type PreVoted = Extract<RaftMessage, { type: "PRE-VOTED" }>;

/** The member has given up waiting: it has no leader, and is no candidate of any term. */
export function becomePreCandidate(state: RaftState, effects: RaftEffects): void {
  enterRole(state, "pre-candidate", effects);
  state.leader = NOBODY;
  effects.announce("follower", NOBODY, state.term);
  countVote(state, state.id);
  if (hasMajority(state)) return becomeCandidate(state, false, effects);
  const message: RaftMessage = { type: "PRE-VOTE", term: state.term + 1, log: logOnDisk(state) };
  for (const peer of state.peers) effects.send(peer, message);
}

/** Any term to come is eligible; for the current one the conditions are those of a vote. */
export function handlePreVote(state: RaftState, from: NodeId, asked: PreVote, now: number, effects: RaftEffects): void {
  const isEligible = asked.term > state.term || (asked.term === state.term && mayVoteFor(state, from));
  if (isEligible && !isLed(state, now) && isUpToDate(asked.log, state.log))
    effects.send(from, { type: "PRE-VOTED", term: asked.term, isGranted: true });
  else reply(state, from, { type: "PRE-VOTED", term: state.term, isGranted: false }, effects);
}

/** The answer counts for the term that this node would begin now, and for no other. */
export function handlePreVoted(state: RaftState, from: NodeId, answer: PreVoted, effects: RaftEffects): void {
  if (!answer.isGranted) {
    if (answer.term > state.term) becomeFollower(state, answer.term, NOBODY, effects);
    return;
  }
  if (state.role !== "pre-candidate" || answer.term !== state.term + 1) return;
  countVote(state, from);
  if (hasMajority(state)) becomeCandidate(state, false, effects);
}
