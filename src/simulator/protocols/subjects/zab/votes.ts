// Compares two votes of ZAB. This is the judge's own order, so that a protocol that orders wrongly is not judged by its own error.
import type { NodeId } from "../../../../protocols/node.ts";
import type { Vote } from "../../../../protocols/zab/state.ts";

/** The order is by epoch, history and id; a candidate of weight 0 is never better. */
export function isBetterVote(weights: ReadonlyMap<NodeId, number>, vote: Vote, than: Vote): boolean {
  if (weights.get(vote.leader) === 0) return false;
  if (vote.peerEpoch !== than.peerEpoch) return vote.peerEpoch > than.peerEpoch;
  return vote.zxid !== than.zxid ? vote.zxid > than.zxid : vote.leader > than.leader;
}
