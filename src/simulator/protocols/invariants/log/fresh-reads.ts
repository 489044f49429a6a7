// A read sees every write that was acknowledged before the read began. Herlihy and Wing 1990, for reads of a log. committed-on-majority.ts judges that it sees nothing that was not committed.
import type { Invariant } from "../invariant.ts";
import { perMember } from "../memory.ts";

interface Memory {
  /** The greatest index that a client was told is done. */
  acknowledged: number;
  /** Member → request → the index that was acknowledged when it was asked, in this life. */
  readonly asked: Map<number, number>[];
}

export const freshReads: Invariant<Memory> = {
  name: "fresh-reads",
  remember: (nodes) => ({ acknowledged: 0, asked: perMember(nodes, () => new Map<number, number>()) }),
  started({ asked }, _view, { id }) {
    asked[id]?.clear();
    return undefined;
  },
  hosted(memory, _view, { id, log }, event) {
    if (event.type === "acknowledged") memory.acknowledged = Math.max(memory.acknowledged, event.index);
    else if (event.type === "read") memory.asked[id]?.set(event.request, memory.acknowledged);
    else if (event.type === "answered") {
      const needed = memory.asked[id]?.get(event.request);
      memory.asked[id]?.delete(event.request);
      if (needed === undefined) return `${id} answers read #${event.request}, which nobody waits for`;
      const applied = log?.applied ?? 0;
      if (applied < needed)
        return `${id} answers a read from a machine at ${applied}, and ${needed} was acknowledged before the read`;
    }
    return undefined;
  },
};
