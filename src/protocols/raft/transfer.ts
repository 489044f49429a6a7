// Leadership transfer (thesis, section 3.10): a leader hands over to a member of its choice, and nobody has to wait for a timeout.
//
// The leader takes no proposals while the transfer lasts, and takes them again when the target has not taken over within an election timeout. The target stands at once, without asking for pre-votes, and
// its requests carry a flag that members that hear the leader honour (check-quorum.ts). Both marks, `transferee` and `isTransfer`, end with every change of role or term (role.ts).
import { NOBODY, type NodeId } from "../node.ts";
import { isCaughtUp } from "./log.ts";
import { becomeFollower } from "./role.ts";
import { type RaftEffects, type RaftState, TRANSFER } from "./state.ts";
import { becomeCandidate } from "./vote.ts";

/** With another target the first transfer is given up. With the same target it goes on. With this node itself or a stranger as target nothing happens. */
export function beginTransfer(state: RaftState, target: NodeId, effects: RaftEffects): void {
  if (state.role !== "leader" || state.transferee === target || !isCaughtUp(state, target)) return;
  state.transferee = target;
  effects.setTimer(TRANSFER, state.timeoutMinMs);
  effects.send(target, { type: "TIMEOUT-NOW", term: state.term });
}

export function giveUpTransfer(state: RaftState): void {
  state.transferee = NOBODY;
}

export function handleTimeoutNow(state: RaftState, term: number, effects: RaftEffects): void {
  if (term > state.term) becomeFollower(state, term, NOBODY, effects);
  if (term === state.term && state.role === "follower") becomeCandidate(state, true, effects);
}

/** Tells whether this leader would take a proposal. */
export function takesProposals(state: RaftState): boolean {
  return state.role === "leader" && state.transferee === NOBODY;
}
