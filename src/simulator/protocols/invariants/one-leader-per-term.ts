// Election Safety: in one term at most one member ever says that it leads. Raft, section 5.2; the same for an epoch of ZAB.
import type { NodeId } from "../../../protocols/node.ts";
import { forgetOldest } from "./memory.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  readonly leaders: Map<number, NodeId>;
}

/** Older terms are forgotten, so that a long run needs no more memory than a short one. */
const TERMS_MAX = 4096;

export const oneLeaderPerTerm: Invariant<Memory> = {
  name: "one-leader-per-term",
  remember: () => ({ leaders: new Map() }),
  announced({ leaders }, _view, { id, role, term }) {
    if (role !== "leader") return undefined;
    const other = leaders.get(term);
    if (other !== undefined && other !== id) return `${other} and ${id} both lead in term ${term}`;
    leaders.set(term, id);
    forgetOldest(leaders, TERMS_MAX);
    return undefined;
  },
};
