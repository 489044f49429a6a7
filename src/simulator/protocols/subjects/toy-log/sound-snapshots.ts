// A snapshot is the log that it replaces: what a host hands over, what a node installs, and what a machine holds after each entry is what a machine of the judge's own
// holds that was given every entry one after the other. Raft, section 7.
import type { NodeId } from "../../../../protocols/node.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import { type Shelf, toyMachine } from "./machine.ts";
import type { ToyEntry } from "./state.ts";
import type { ToyInvariant } from "./types.ts";

interface Memory {
  readonly machine: Shelf;
  /** The last index that the judge's machine was given. */
  index: number;
  /** Index → what it held after that. */
  readonly states: Map<number, string>;
}

const STATES_MAX = 4096;

export const soundSnapshots: ToyInvariant<Memory> = {
  name: "sound-snapshots",
  remember: () => ({ machine: toyMachine.create(), index: 0, states: new Map([[0, "[]"]]) }),
  hosted(memory, _view, { id, log }, event) {
    if (event.type === "applied") {
      follow(memory, event.entry);
      return judge(memory, id, event.entry.index, log?.kept(), "holds");
    }
    if (event.type === "restored") return judge(memory, id, event.snapshot.index, event.snapshot.kept, "restores");
    return event.type === "compacted" ? judge(memory, id, event.index, event.kept, "keeps") : undefined;
  },
};

/** The member that applies an index first has applied the one before it, or has a snapshot of a member that has. */
function follow(memory: Memory, entry: ToyEntry): void {
  if (entry.index !== memory.index + 1) return;
  if (entry.kind === "proposal") toyMachine.apply(memory.machine, entry.proposal);
  memory.index = entry.index;
  memory.states.set(entry.index, JSON.stringify(toyMachine.snapshot(memory.machine)));
  forgetOldest(memory.states, STATES_MAX);
}

function judge({ states }: Memory, id: NodeId, index: number, kept: unknown, does: string): string | undefined {
  const state = states.get(index);
  const text = JSON.stringify(kept);
  return text === state
    ? undefined
    : `${id} ${does} ${text} after ${index}; the log up to there makes ${state ?? "nothing"}`;
}
