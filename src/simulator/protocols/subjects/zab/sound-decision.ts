// A peer follows for one of these reasons. Either a quorum has voted in its round exactly as it has, and since its own vote last changed it has waited `finalizeWait` for a better one. Or it has heard
// from a quorum in its round, or from a quorum of peers that do not look, that they follow this leader in this epoch, and among the same votes is the leader's own word that it leads. The votes that it
// counts for its round are of one round. ZooKeeper's finalizeWait and checkLeader; ZOOKEEPER-3537.
import type { NodeId } from "../../../../protocols/node.ts";
import type { Notification, Vote } from "../../../../protocols/zab/state.ts";
import { isMajorityByWeight } from "./weights.ts";
import { perMember } from "../../invariants/memory.ts";
import type { ZabInvariant, ZabMember } from "./types.ts";

interface Memory {
  /** Member → its vote while it last looked, and the time since which it has it; undefined: it has decided since, and was judged. */
  readonly votes: ({ readonly vote: Vote; readonly sinceMs: number } | undefined)[];
}

/** True time is compared with a timer of the member's clock; this allows for rounding. */
const GRACE_MS = 1e-3;

export const zabSoundDecision: ZabInvariant<Memory> = {
  name: "zab-sound-decision",
  remember: (nodes) => ({ votes: perMember(nodes, () => undefined) }),
  sent({ votes }, view, from, _to, said) {
    const before = votes[from];
    if (said.type === "NOTIFICATION" && said.state === "looking") {
      if (before === undefined || !isEqual(before.vote, said)) votes[from] = { vote: said, sinceMs: view.nowMs };
    } else if (said.type === "CEPOCH" && before !== undefined) {
      votes[from] = undefined;
      return judge(view.member(from), view.nowMs - before.sinceMs);
    }
    return undefined;
  },
};

function judge(member: ZabMember, waitedMs: number): string | undefined {
  const { vote, received, settled, weights, timing } = member.state;
  const isQuorum = (votes: ReadonlyMap<NodeId, Notification>, isCounted: (heard: Notification) => boolean): boolean =>
    isMajorityByWeight(
      weights,
      [...votes].filter(([, heard]) => isCounted(heard)).map(([id]) => id),
    );
  const [first, ...others] = received.values();
  if (others.some(({ round }) => round !== first?.round))
    return `${member.id} counts votes of different rounds together`;
  const isElected = isQuorum(received, (heard) => isEqual(heard, vote));
  if (isElected && waitedMs >= timing.finalizeWaitMs / member.clockRate - GRACE_MS) return undefined;
  const isChosen = (heard: Notification): boolean =>
    heard.leader === vote.leader &&
    heard.peerEpoch === vote.peerEpoch &&
    (heard.state !== "looking" || isEqual(heard, vote));
  const hasWord = (votes: ReadonlyMap<NodeId, Notification>): boolean => votes.get(vote.leader)?.state === "leading";
  if ([received, settled].some((votes) => hasWord(votes) && isQuorum(votes, isChosen))) return undefined;
  return `${member.id} follows ${vote.leader} ${isElected ? `after ${waitedMs.toFixed(3)} ms, too soon` : "without reason"}`;
}

function isEqual(a: Vote, b: Vote): boolean {
  return a.leader === b.leader && a.zxid === b.zxid && a.round === b.round && a.peerEpoch === b.peerEpoch;
}
