// CheckQuorum (thesis, section 6.2) and the loyalty that goes with it (section 4.2.3).
//
// A leader that no majority answers steps down: it could commit nothing, and members that still hear it would wait for it for ever. Once per least election timeout it looks whether a majority has
// answered since the last look, so it notices after one to two of these timeouts.
// A member that has heard its leader within the least election timeout ignores requests for its vote, and does not take over the newer term. So a member that cannot hear the leader does not depose it,
// whatever its term. Requests that the leader itself wished for are exempt (transfer.ts). The price: a member that has got ahead in terms must be freed in another way, which is handleAppend's reply.
//
// Without CheckQuorum a member must not be loyal to a leader that nobody else hears, so only pre-votes are refused then, as the thesis says (section 9.6); testdata/raft-election shows how even that can
// last for ever.
import { NOBODY, type NodeId } from "../node.ts";
import { becomeFollower } from "./role.ts";
import { CHECK_QUORUM, type RaftEffects, type RaftState } from "./state.ts";

/** A leader hears itself. A member that has stopped waiting has no leader any more. */
export function isLed(state: RaftState, now: number): boolean {
  if (state.leader === state.id) return true;
  return state.leader !== NOBODY && now - state.heardAtMs < state.timeoutMinMs;
}

export function watchQuorum(state: RaftState, effects: RaftEffects): void {
  state.active.fill(0);
  if (state.hasCheckQuorum) effects.setTimer(CHECK_QUORUM, state.timeoutMinMs);
}

export function noteActive(state: RaftState, peer: NodeId): void {
  state.active[peer] = 1;
}

export function checkQuorum(state: RaftState, effects: RaftEffects): void {
  let count = 1;
  for (const peer of state.peers) count += state.active[peer] as number;
  if (count >= state.quorum) return watchQuorum(state, effects);
  effects.explain("no majority has answered for an election timeout: step down");
  becomeFollower(state, state.term, NOBODY, effects);
}
