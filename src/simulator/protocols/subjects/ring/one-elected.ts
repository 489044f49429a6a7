// No member sees two elected in one round. A ring has no quorum: groups that never met may use the same number of a round, one after the other. But suppose that a member was up when one process was
// elected in a round, and is up when another is elected in the same round: it would have two leaders of one round. The elected process is one particular process: this is the lecture's definition of
// election safety.
import type { NodeId } from "../../../../protocols/node.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import type { RingInvariant } from "./types.ts";

interface Elected {
  readonly leader: NodeId;
  /** The members that were in that round then. */
  readonly members: readonly NodeId[];
}

interface Memory {
  readonly rounds: Map<number, readonly Elected[]>;
}

/** Older rounds are forgotten, so that a long run needs no more memory than a short one. */
const ROUNDS_MAX = 4096;

export const oneElected: RingInvariant<Memory> = {
  name: "one-elected",
  remember: () => ({ rounds: new Map() }),
  announced({ rounds }, view, { id, role, term }) {
    if (role !== "leader") return undefined;
    const members = view.members.filter((member) => member.isUp && member.term === term).map((member) => member.id);
    const before = rounds.get(term) ?? [];
    const other = before.find(
      (elected) => elected.leader !== id && elected.members.some((member) => members.includes(member)),
    );
    rounds.set(term, [...before, { leader: id, members }]);
    forgetOldest(rounds, ROUNDS_MAX);
    return other === undefined ? undefined : `${other.leader} and ${id} were both elected in round ${term}`;
  },
};
