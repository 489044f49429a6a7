// A vote is heeded. While a peer looks it has the best vote of its round that it was sent, also when a quorum has agreed and it only waits for a better one. And a peer that looks is answered by peers
// that look in a later round, or that do not look: otherwise it would learn of that round, or of the leader, by chance only. ZooKeeper's lookForLeader and WorkerReceiver.
import { isBetterVote } from "./votes.ts";
import type { ZabInvariant } from "./types.ts";

interface Memory {
  readonly size: number;
  /** Sender and receiver → the event in which the one last told the other its vote. */
  readonly told: Float64Array;
}

export const zabHeededVotes: ZabInvariant<Memory> = {
  name: "zab-heeded-votes",
  remember: (nodes) => ({ size: nodes + 1, told: new Float64Array((nodes + 1) ** 2) }),
  sent({ told, size }, { events }, from, to, message) {
    if (message.type === "NOTIFICATION") told[from * size + to] = events;
    return undefined;
  },
  received: {
    NOTIFICATION({ told, size }, { events }, { id, state }, from, heard) {
      // A peer that adopts a vote, or begins to look, tells everybody.
      if (heard.state !== "looking" || from === id || told[id * size + from] === events) return undefined;
      const { mode, round, vote, weights } = state;
      if (mode !== "looking" || round > heard.round)
        return `${id} does not answer ${from}, who looks in round ${heard.round}`;
      return round === heard.round && isBetterVote(weights, heard, vote)
        ? `${id} votes for ${vote.leader}, and has heard the better vote for ${heard.leader} from ${from}`
        : undefined;
    },
  },
};
