// Chang–Roberts (1979): tokens travel clockwise, and only the best one comes all the way round. The member with the best attribute that is alive leads; of equal ones the one with the greater id.
//
// ASSUMES  Links lose nothing and deliver within `delayMs`, in any order; a node answers, and its disk writes, within `processMs`; every node knows the ring. Then a successor that does not answer is
// dead: the detector makes no mistakes. Crashed nodes return with the round that was on their disk.
// PROMISES  While that holds: every node that is up follows the best that is up, soon after the last crash or restart. Two nodes never lead at the same instant: a winner's token has passed every node
// that is up, and a node that it passes stops leading. No node sees two elected in one round.
// DOES NOT PROMISE  Anything under partition: the ring closes on each side, and both sides elect. The same holds for a wrong suspicion, which is a partition of one node. Everything that a leader writes
// must be fenced at the resource. An election, also a needless one, is a time without a leader.
//
// COST  ELECTION and ELECTED, of N members that are up. One initiator: 2N if it is the best, 3N−1 if it is the successor of the best. All at once: N·H_N
// ELECTION on average over all orders, N(N+1)/2 if ids fall clockwise, 2N−1 if they rise; and N ELECTED.
//
//   token of        not yet participant        participant
//   a better one    pass it on                 pass it on, if it is better than the best so far
//   a lesser one    the own token instead      swallow it (suppression)
//   itself                                     it is the best: ELECTED
import { type RingNode, ringNode } from "./ring.ts";
import { launch, passToken } from "./round.ts";
import { type ElectionToken, isBetter, type RingEffects, type RingState } from "./state.ts";

function takeToken(state: RingState, token: ElectionToken, effects: RingEffects): void {
  if (isBetter(token, state.best)) {
    state.best = token;
    passToken(state, token, effects);
  } else if (!state.isParticipant) launch(state, effects);
  else effects.explain("a lesser token: swallowed");
}

/** The node of Chang and Roberts (1979): in a ring, the best attribute leads, and lesser tokens are swallowed. */
export const changRoberts: RingNode = ringNode({
  name: "chang-roberts",
  summary: "the best attribute leads; in a ring, lesser tokens are swallowed (Chang and Roberts 1979)",
  takeToken,
});
