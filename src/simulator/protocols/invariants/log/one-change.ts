// At most one change of members is not committed: no log has two behind the last entry that any machine was given. Members change one at a time so that the majorities before and after share a voter.
// Ongaro's thesis, section 4.1.
import type { Invariant } from "../invariant.ts";

interface Memory {
  /** The greatest index that any machine was given. */
  applied: number;
}

export const oneChange: Invariant<Memory> = {
  name: "one-change",
  remember: () => ({ applied: 0 }),
  hosted(memory, _view, _member, event) {
    if (event.type === "applied") memory.applied = Math.max(memory.applied, event.entry.index);
    return undefined;
  },
  after({ applied }, _view, { id, log }) {
    const changes: number[] = [];
    for (let index = applied + 1; index <= (log?.bounds().last ?? 0); index++)
      if (log?.entryAt(index)?.kind === "members") changes.push(index);
    return changes.length > 1 ? `${id} has changes of members at ${changes.join(" and ")}, none committed` : undefined;
  },
};
