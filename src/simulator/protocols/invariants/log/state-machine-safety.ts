// State Machine Safety: once a machine has been given an entry, no machine is ever given another at that index, in any life. Raft, section 5.4.3.
import type { Invariant } from "../invariant.ts";
import { forgetOldest } from "../memory.ts";

interface Memory {
  readonly applied: Map<number, string>;
}

const ENTRIES_MAX = 4096;

export const stateMachineSafety: Invariant<Memory> = {
  name: "state-machine-safety",
  remember: () => ({ applied: new Map() }),
  hosted({ applied }, _view, { id }, event) {
    if (event.type !== "applied") return undefined;
    const text = JSON.stringify(event.entry);
    const other = applied.get(event.entry.index);
    if (other === undefined) {
      applied.set(event.entry.index, text);
      forgetOldest(applied, ENTRIES_MAX);
    }
    return other === undefined || other === text ? undefined : `${id} applies ${text}, and ${other} was applied there`;
  },
};
