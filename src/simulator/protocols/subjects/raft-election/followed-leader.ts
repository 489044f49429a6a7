// A leader that is followed in a term has been elected in that term: an old leader is not followed in a newer one. Raft, section 5.1. Term 0 is that of a leader from
// before the world began.
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import type { RaftInvariant } from "./types.ts";

interface Memory {
  readonly leaders: Map<number, NodeId>;
}

const TERMS_MAX = 4096;

export const followedLeader: RaftInvariant<Memory> = {
  name: "followed-leader",
  remember: () => ({ leaders: new Map() }),
  announced({ leaders }, _view, { id, role, leader, term }) {
    if (role === "leader") {
      leaders.set(term, id);
      forgetOldest(leaders, TERMS_MAX);
      return undefined;
    }
    if (leader === NOBODY || term === 0 || leaders.get(term) === leader) return undefined;
    return `${id} follows ${leader} in term ${term}, in which ${leader} was not elected`;
  },
};
