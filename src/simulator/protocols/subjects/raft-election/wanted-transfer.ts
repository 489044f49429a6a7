// A vote that is asked for in a leader's name follows that leader's TIMEOUT-NOW, in the next term and no later one: the mark of a transfer outlives neither role
// nor term. Thesis, section 3.10.
import { NODES_MAX } from "../../spec.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import type { RaftInvariant } from "./types.ts";

interface Memory {
  /** Term and target of each TIMEOUT-NOW. */
  readonly wanted: Set<number>;
}

const WANTED_MAX = 1024;

export const wantedTransfer: RaftInvariant<Memory> = {
  name: "wanted-transfer",
  remember: () => ({ wanted: new Set() }),
  sent({ wanted }, _view, from, to, sent) {
    if (sent.type === "TIMEOUT-NOW") {
      wanted.add(sent.term * NODES_MAX + to);
      forgetOldest(wanted, WANTED_MAX);
    }
    if (sent.type !== "VOTE" || !sent.isTransfer) return undefined;
    return wanted.has((sent.term - 1) * NODES_MAX + from)
      ? undefined
      : `${from} asks for votes in term ${sent.term} as if a leader wanted it`;
  },
};
