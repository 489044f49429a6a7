// An elected peer does not wait for electors that will not come. When the electors that are left are no quorum, because the others have voted again, it looks again too (ZOOKEEPER-3109). Nor does a
// follower wait for a leader that has said that it looks.
import type { NodeId } from "../../../../protocols/node.ts";
import type { Notification, ZabState } from "../../../../protocols/zab/state.ts";
import { isMajorityByWeight } from "./weights.ts";
import { isBetterVote } from "./votes.ts";
import type { ZabInvariant } from "./types.ts";

export const zabHeededPeers: ZabInvariant = {
  name: "zab-heeded-peers",
  remember: () => ({}),
  received: {
    NOTIFICATION(_memory, _view, { id, state }, from, heard) {
      const { mode, vote, reign } = state;
      if (heard.state !== "looking" || mode === "looking") return undefined;
      if (mode === "following" && from === vote.leader && heard.round > vote.round)
        return `${id} goes on following ${from}, who looks in round ${heard.round}`;
      return reign?.phase === "gathering" ? judgeElectors(id, state, reign.electors, from, heard) : undefined;
    },
  },
};

/** A vote of a later round, or a better one of the same, was cast after the one that elected. */
function judgeElectors(
  id: NodeId,
  { weights, vote }: ZabState,
  electors: ReadonlySet<NodeId>,
  from: NodeId,
  heard: Notification,
): string | undefined {
  const isLater = heard.round > vote.round || (heard.round === vote.round && isBetterVote(weights, heard, vote));
  const left = [...electors].filter((elector) => !isLater || elector !== from);
  return isMajorityByWeight(weights, left)
    ? undefined
    : `${id} waits for a quorum, and of those who elected it only ${left.join(",")} have not voted again`;
}
