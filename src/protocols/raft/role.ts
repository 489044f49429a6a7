// All changes of role and of term go through here: so nothing that belongs to a role, and nothing that belongs to a term, outlives it. A transfer belongs to both. A flag that stays behind would make a
// later leader refuse proposals for ever, or a later candidate push aside a healthy leader.
//
// The election timer (Raft, section 5.2) is set anew by a change of role, by a valid leader's APPEND (follower.ts), and by granting a vote (vote.ts). Nothing else sets it: not a refusal, a pre-vote, an
// older term, nor a newer term alone. Its length is drawn at each change of role, so that candidates that collided do not collide again.
import { nextBetween } from "../../base/rng.ts";
import { NOBODY, type NodeId } from "../node.ts";
import {
  CHECK_QUORUM,
  ELECTION,
  HEARTBEAT,
  type RaftEffects,
  type RaftRole,
  type RaftState,
  TRANSFER,
} from "./state.ts";

/** Begins a newer term: the vote and the leader of the old one mean nothing in it. Both are written together (storage.ts). */
export function beginTerm(state: RaftState, term: number): void {
  state.term = term;
  state.vote = NOBODY;
  state.leader = NOBODY;
  state.transferee = NOBODY;
  state.isTransfer = false;
}

export function enterRole(state: RaftState, role: RaftRole, effects: RaftEffects): void {
  if (state.role === "leader") {
    effects.cancelTimer(HEARTBEAT);
    effects.cancelTimer(CHECK_QUORUM);
    effects.cancelTimer(TRANSFER);
  }
  state.role = role;
  state.transferee = NOBODY;
  state.isTransfer = false;
  state.votes.fill(0);
  state.timeoutMs = nextBetween(state.rng, state.timeoutMinMs, state.timeoutMaxMs);
  if (role === "leader") effects.cancelTimer(ELECTION);
  else waitForElection(state, effects);
}

export function waitForElection(state: RaftState, effects: RaftEffects): void {
  effects.setTimer(ELECTION, state.timeoutMs);
}

/** Follows `leader`, or nobody yet, in `term`, which may be newer. A follower that only learns of a newer term does not restart its election timer. */
export function becomeFollower(state: RaftState, term: number, leader: NodeId, effects: RaftEffects): void {
  if (term > state.term) beginTerm(state, term);
  if (state.role !== "follower") enterRole(state, "follower", effects);
  state.leader = leader;
  effects.announce("follower", leader, state.term);
}
