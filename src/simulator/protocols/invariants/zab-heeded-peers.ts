// An elected peer does not wait for those who will not come. When the electors that are left are no quorum, because the others have voted again, it looks again too
// (ZOOKEEPER-3109). Nor does a follower wait for a leader that has said that it looks.
import type { NodeId } from "../../../protocols/protocol.ts";
import type { Notification, Vote, ZabState } from "../../../protocols/zab/state.ts";
import type { Member } from "../member.ts";
import { isMajorityByWeight } from "../weights.ts";
import { isBetterVote } from "../zab-votes.ts";
import type { Invariant } from "./invariant.ts";

/** Of a peer that was elected and has no epoch yet. */
interface Elected {
  readonly vote: Vote;
  readonly electors: Set<NodeId>;
}

interface Memory {
  readonly elected: (Elected | undefined)[];
}

export const zabHeededPeers: Invariant<Memory> = {
  name: "zab-heeded-peers",
  remember: (nodes) => ({ elected: Array.from({ length: nodes + 1 }, () => undefined) }),
  received: {
    NOTIFICATION: ({ elected }, _view, member, from, message) =>
      judgeLeader(member, from, message as Notification) ??
      judgeElectors(elected[member.id], member, from, message as Notification),
  },
  after: look,
  started: look,
};

function judgeLeader({ id, state }: Member, from: NodeId, heard: Notification): string | undefined {
  const { mode, vote } = state as ZabState;
  return mode === "following" && from === vote.leader && heard.state === "looking" && heard.round > vote.round
    ? `${id} goes on following ${from}, who looks in round ${heard.round}`
    : undefined;
}

/** A vote of a later round, or a better one of the same, was cast after the one that elected. */
function judgeElectors(
  elected: Elected | undefined,
  { id, state }: Member,
  from: NodeId,
  heard: Notification,
): string | undefined {
  const { weights, reign } = state as ZabState;
  if (elected === undefined || heard.state !== "looking") return undefined;
  const { vote, electors } = elected;
  if (heard.round > vote.round || (heard.round === vote.round && isBetterVote(weights, heard, vote)))
    electors.delete(from);
  return reign?.phase === "gathering" && !isMajorityByWeight(weights, electors)
    ? `${id} waits for a quorum, and of those who elected it only ${[...electors].join(",")} have not voted again`
    : undefined;
}

function look({ elected }: Memory, _view: unknown, { id, state, isPaused }: Member): undefined {
  const { reign, vote } = state as ZabState;
  if (isPaused || reign?.phase !== "gathering") elected[id] = undefined;
  else elected[id] ??= { vote, electors: new Set(reign.electors) };
}
