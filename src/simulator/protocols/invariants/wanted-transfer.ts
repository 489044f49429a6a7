// A vote that is asked for in a leader's name follows that leader's TIMEOUT-NOW, in the next term and no later one: the mark of a transfer outlives neither role
// nor term. Thesis, section 3.10.
import type { RaftMessage } from "../../../protocols/raft/state.ts";
import { NODES_MAX } from "../spec.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Term and target of each TIMEOUT-NOW. */
  readonly wanted: Set<number>;
}

const WANTED_MAX = 1024;

export const wantedTransfer: Invariant<Memory> = {
  name: "wanted-transfer",
  remember: () => ({ wanted: new Set() }),
  sent({ wanted }, _view, from, to, message) {
    const sent = message as RaftMessage;
    if (sent.type === "TIMEOUT-NOW") {
      wanted.add(sent.term * NODES_MAX + to);
      if (wanted.size > WANTED_MAX) wanted.delete(wanted.keys().next().value as number);
    }
    if (sent.type !== "VOTE" || !sent.isTransfer) return undefined;
    return wanted.has((sent.term - 1) * NODES_MAX + from)
      ? undefined
      : `${from} asks for votes in term ${sent.term} as if a leader wanted it`;
  },
};
