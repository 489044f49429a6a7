// Whoever is followed in a term has been elected in that term: an old leader is not followed in a newer one. Raft, section 5.1. Term 0 is that of a leader from
// before the world began.
import { NOBODY, type NodeId } from "../../../protocols/protocol.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  readonly leaders: Map<number, NodeId>;
}

const TERMS_MAX = 4096;

export const followedLeader: Invariant<Memory> = {
  name: "followed-leader",
  remember: () => ({ leaders: new Map() }),
  announced({ leaders }, _view, { id, role, leader, term }) {
    if (role === "leader") {
      leaders.set(term, id);
      if (leaders.size > TERMS_MAX) leaders.delete(leaders.keys().next().value as number);
      return undefined;
    }
    if (leader === NOBODY || term === 0 || leaders.get(term) === leader) return undefined;
    return `${id} follows ${leader} in term ${term}, in which ${leader} was not elected`;
  },
};
