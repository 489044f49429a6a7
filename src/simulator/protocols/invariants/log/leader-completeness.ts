// Leader Completeness: a leader's log has every entry that was committed in an earlier term, so none is ever overwritten. It is judged by the last entry that the leader of each earlier term has applied;
// those before it follow (log-matching.ts). Raft, section 5.4.3.
import type { LogPlace } from "../../../../protocols/log-node.ts";
import type { Invariant } from "../invariant.ts";
import { forgetOldest } from "../memory.ts";

interface Memory {
  /** The greatest index that any machine was given. */
  applied: number;
  /** Term → the last entry that was committed in it. */
  readonly committed: Map<number, LogPlace>;
}

const TERMS_MAX = 4096;

export const leaderCompleteness: Invariant<Memory> = {
  name: "leader-completeness",
  remember: () => ({ applied: 0, committed: new Map() }),
  hosted(memory, _view, { term }, event) {
    if (event.type !== "applied" || event.entry.index <= memory.applied) return undefined;
    memory.applied = event.entry.index;
    memory.committed.set(term, { index: event.entry.index, term: event.entry.term });
    forgetOldest(memory.committed, TERMS_MAX);
    return undefined;
  },
  announced({ committed }, _view, { id, role, term, log }) {
    if (role !== "leader" || log === undefined) return undefined;
    for (const [earlier, place] of committed) {
      if (earlier >= term || place.index <= log.bounds().snapshot) continue;
      const own = log.entryAt(place.index)?.term;
      if (own !== place.term)
        return `${id} leads in term ${term} and has ${own === undefined ? "no entry" : `term ${own}`} at ${place.index}, which term ${place.term} has committed`;
    }
    return undefined;
  },
};
