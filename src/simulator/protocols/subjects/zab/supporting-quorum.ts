// The leader of an epoch was supported by a quorum that had accepted the epoch for it alone, and of which no member had a newer history: (currentEpoch, zxid) on the leader's disk when it proposed the
// epoch is not less than theirs when they accepted it. Zab, section IV, phase 1.
import type { NodeId } from "../../../../protocols/node.ts";
import { isMajorityByWeight } from "./weights.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import type { ZabInvariant, ZabMember } from "./types.ts";

interface Memory {
  /** `epoch/leader` → the leader's history when it proposed the epoch, and the history of each peer that accepted. */
  readonly proposals: Map<string, Proposal>;
}

interface History {
  readonly currentEpoch: number;
  readonly zxid: number;
}

interface Proposal {
  readonly own: History;
  readonly supporters: Map<NodeId, History>;
}

const PROPOSALS_MAX = 512;

export const zabSupportingQuorum: ZabInvariant<Memory> = {
  name: "zab-supporting-quorum",
  remember: () => ({ proposals: new Map() }),
  sent({ proposals }, view, from, to, said) {
    if (said.type === "NEWEPOCH") {
      const key = `${said.epoch}/${from}`;
      if (proposals.has(key)) return undefined;
      proposals.set(key, { own: historyOf(view.member(from)), supporters: new Map() });
      forgetOldest(proposals, PROPOSALS_MAX);
    } else if (said.type === "ACKEPOCH" && said.counts) {
      const supporters = proposals.get(`${said.epoch}/${to}`)?.supporters;
      // If the peer says it again, it may have that leader's history already.
      if (supporters?.has(from) === false) supporters.set(from, historyOf(view.member(from)));
    }
    return undefined;
  },
  announced({ proposals }, _view, { id, role, term, state }) {
    if (role !== "leader") return undefined;
    const proposal = proposals.get(`${term}/${id}`);
    // A world that begins settled has a leader that proposed nothing.
    if (proposal === undefined) return undefined;
    const supporters = [...proposal.supporters].filter(([, history]) => !isNewer(history, proposal.own));
    return isMajorityByWeight(state.weights, [id, ...supporters.map(([peer]) => peer)])
      ? undefined
      : `${id} leads epoch ${term} without a quorum that accepted it and was not ahead of it`;
  },
};

function isNewer(a: History, b: History): boolean {
  return a.currentEpoch !== b.currentEpoch ? a.currentEpoch > b.currentEpoch : a.zxid > b.zxid;
}

/** The history on disk; before the first write, the one that the peer began with. */
function historyOf({ state, disk }: ZabMember): History {
  const { currentEpoch, zxid } = disk.image ?? state;
  return { currentEpoch, zxid };
}
