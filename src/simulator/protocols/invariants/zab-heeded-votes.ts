// A vote is heeded. While a peer looks it has the best vote of its round that it was sent, also when a quorum has agreed and it only waits for something better.
// And whoever looks is answered by those who look in a later round, or who do not look: else it learns of that round, or of the leader, by chance only.
// ZooKeeper's lookForLeader and WorkerReceiver.
import type { NodeId } from "../../../protocols/protocol.ts";
import type { Notification, ZabState } from "../../../protocols/zab/state.ts";
import type { Member } from "../member.ts";
import { isBetterVote } from "../zab-votes.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Member → to whom it has sent its vote in its present event. */
  readonly told: Set<NodeId>[];
  /** Whether it looked before that. */
  readonly looked: boolean[];
}

export const zabHeededVotes: Invariant<Memory> = {
  name: "zab-heeded-votes",
  remember: (nodes) => ({
    told: Array.from({ length: nodes + 1 }, () => new Set()),
    looked: Array.from({ length: nodes + 1 }, () => false),
  }),
  sent({ told }, _view, from, to, message) {
    if (message.type === "NOTIFICATION") told[from]?.add(to);
    return undefined;
  },
  received: {
    NOTIFICATION({ told, looked }, _view, { id, state }, from, message) {
      const heard = message as Notification;
      if (heard.state !== "looking" || from === id) return undefined;
      const { mode, round, vote, weights } = state as ZabState;
      const isAhead = mode !== "looking" || round > heard.round;
      if (isAhead && told[id]?.has(from) === false)
        return `${id} does not answer ${from}, who looks in round ${heard.round}`;
      return looked[id] === true && round === heard.round && isBetterVote(weights, heard, vote)
        ? `${id} votes for ${vote.leader}, and has heard the better vote for ${heard.leader} from ${from}`
        : undefined;
    },
  },
  after: look,
  started: look,
};

function look({ told, looked }: Memory, _view: unknown, { id, state }: Member): undefined {
  if (told[id]?.size !== 0) told[id]?.clear();
  looked[id] = (state as ZabState).mode === "looking";
}
