// A replica that promises to a new holder says for how long others may still rely on it: not less than it has told them, unless they have given the promise back. This holds across its lives too. Where
// it is right everywhere, exclusion follows; where it is wrong, exclusion is a matter of luck. Chubby, section 2.1.
import type { NodeId } from "../../../../protocols/node.ts";
import { perMember } from "../../invariants/memory.ts";
import type { MasterLeaseInvariant, MasterLeaseView } from "./types.ts";

interface Memory {
  readonly size: number;
  /** Replica and holder → the time, on the replica's clock, until which the holder may rely on it, and the epoch. */
  readonly until: Float64Array;
  readonly epochs: Float64Array;
  /** Holder → the last epoch that it has given back. */
  readonly released: number[];
}

/** Readings of a clock are true time multiplied; this allows for rounding. */
const GRACE_MS = 1e-3;

export const masterLeaseKeptWord: MasterLeaseInvariant<Memory> = {
  name: "master-lease-kept-word",
  remember: (nodes) => ({
    size: nodes + 1,
    until: new Float64Array((nodes + 1) ** 2).fill(-Infinity),
    epochs: new Float64Array((nodes + 1) ** 2),
    released: perMember(nodes, () => 0),
  }),
  sent(memory, view, from, to, said) {
    if (said.type === "RELEASE") memory.released[from] = Math.max(memory.released[from] ?? 0, said.epoch);
    if (said.type !== "GRANT" && said.type !== "RENEWED") return undefined;
    const story = said.type === "GRANT" ? breaks(memory, view, from, to, said.waitMs) : undefined;
    const pair = from * memory.size + to;
    memory.until[pair] = view.member(from).state.pledge.until;
    memory.epochs[pair] = said.epoch;
    return story;
  },
};

function breaks(
  { size, until, epochs, released }: Memory,
  view: MasterLeaseView,
  from: NodeId,
  to: NodeId,
  waitMs: number,
): string | undefined {
  const now = view.member(from).now();
  for (let holder = 1; holder < size; holder++) {
    const pair = from * size + holder;
    const leftMs = (until[pair] ?? -Infinity) - now;
    const isReleased = (epochs[pair] ?? 0) <= (released[holder] ?? 0);
    if (holder !== to && !isReleased && leftMs > waitMs + GRACE_MS)
      return `${from} promises to ${to} and lets it wait ${waitMs.toFixed(3)} ms, though ${holder} may rely on it for ${leftMs.toFixed(3)} ms more`;
  }
  return undefined;
}
