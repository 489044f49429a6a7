// A peer that was elected in a round has itself looked in that round, in this life, and a quorum has voted for it in that round. No peer leads by votes for an earlier state of it: ZOOKEEPER-1514, the
// backward election round.
import type { NodeId } from "../../../../protocols/node.ts";
import { isMajorityByWeight } from "./weights.ts";
import { forgetOldest, perMember } from "../../invariants/memory.ts";
import type { ZabInvariant } from "./types.ts";

interface Memory {
  /** `round/candidate` → the peers that voted so while looking. */
  readonly votes: Map<string, Set<NodeId>>;
  /** Member → the `life/round` in which it last looked. */
  readonly looked: string[];
}

const ROUNDS_MAX = 1024;

export const zabElectedInRound: ZabInvariant<Memory> = {
  name: "zab-elected-in-round",
  remember: (nodes) => ({ votes: new Map(), looked: perMember(nodes, () => "") }),
  sent({ votes, looked }, view, from, _to, said) {
    if (said.type !== "NOTIFICATION" || said.state !== "looking") return undefined;
    looked[from] = `${view.member(from).life}/${said.round}`;
    const key = `${said.round}/${said.leader}`;
    const voters = votes.get(key);
    if (voters === undefined) votes.set(key, new Set([from]));
    else voters.add(from);
    forgetOldest(votes, ROUNDS_MAX);
    return undefined;
  },
  announced({ votes, looked }, view, member) {
    const { round, reign, weights } = member.state;
    if (reign === undefined || reign.phase !== "choosing") return undefined;
    if (view.nodes > 1 && looked[member.id] !== `${member.life}/${round}`)
      return `${member.id} was elected in round ${round}, in which it has not looked`;
    // A group of one sends no votes.
    const voters = view.nodes === 1 ? [member.id] : (votes.get(`${round}/${member.id}`) ?? []);
    return isMajorityByWeight(weights, voters)
      ? undefined
      : `${member.id} was elected in round ${round} without a quorum's votes`;
  },
};
