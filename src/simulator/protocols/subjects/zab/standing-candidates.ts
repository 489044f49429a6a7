// A peer that is voted for in a round has stood in that round itself. So no peer is elected by the memory of others. For this reason a peer that adopts a newer round compares votes with its first one,
// and not with the one it had adopted.
import type { NodeId } from "../../../../protocols/node.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import type { ZabInvariant } from "./types.ts";

interface Memory {
  /** Round → the peers that proposed themselves in it. */
  readonly stood: Map<number, Set<NodeId>>;
}

const ROUNDS_MAX = 1024;

export const zabStandingCandidates: ZabInvariant<Memory> = {
  name: "zab-standing-candidates",
  remember: () => ({ stood: new Map() }),
  sent({ stood }, _view, from, _to, said) {
    if (said.type !== "NOTIFICATION" || said.state !== "looking") return undefined;
    const candidates = stood.get(said.round);
    if (candidates?.has(said.leader) === true) return undefined;
    if (said.leader !== from)
      return `${from} votes in round ${said.round} for ${said.leader}, who does not stand in it`;
    if (candidates === undefined) stood.set(said.round, new Set([from]));
    else candidates.add(from);
    forgetOldest(stood, ROUNDS_MAX);
    return undefined;
  },
};
