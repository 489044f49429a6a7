// A snapshot is equal to the log that it replaces. The judge has a machine of its own that is given every entry one after the other. The state that a host hands over, the snapshot that a node installs,
// and the state of a machine after each entry must be equal to the state of the judge's machine. Raft, section 7. This is for any log: the subject says which machine its hosts keep.
import type { LogEntry, StateMachine } from "../../../../protocols/log-node.ts";
import type { Message, NodeId } from "../../../../protocols/node.ts";
import type { HostEvent, Invariant } from "../invariant.ts";
import { forgetOldest } from "../memory.ts";

interface Memory<Machine> {
  readonly machine: Machine;
  /** The last index that the judge's machine was given. */
  index: number;
  /** Index → the state of that machine after it. */
  readonly states: Map<number, string>;
}

type OfMachine<Machine, Proposal, Kept> = Invariant<
  Memory<Machine>,
  object,
  Message,
  unknown,
  HostEvent<Proposal, Kept>
>;

const STATES_MAX = 4096;

export function soundSnapshots<Machine extends object, Proposal, Kept>(
  how: StateMachine<Machine, Proposal, Kept>,
): OfMachine<Machine, Proposal, Kept> {
  /** The member that applies an index first has applied the one before it, or has a snapshot of a member that has. */
  const follow = (memory: Memory<Machine>, entry: LogEntry<Proposal>): void => {
    if (entry.index !== memory.index + 1) return;
    if (entry.kind === "proposal") how.apply(memory.machine, entry.proposal);
    memory.index = entry.index;
    memory.states.set(entry.index, JSON.stringify(how.snapshot(memory.machine)));
    forgetOldest(memory.states, STATES_MAX);
  };
  return {
    name: "sound-snapshots",
    remember: () => ({
      machine: how.create(),
      index: 0,
      states: new Map([[0, JSON.stringify(how.snapshot(how.create()))]]),
    }),
    hosted(memory, _view, { id, log }, event) {
      if (event.type === "applied") {
        follow(memory, event.entry);
        return judge(memory.states, id, event.entry.index, log?.kept(), "holds");
      }
      const { states } = memory;
      if (event.type === "restored") return judge(states, id, event.snapshot.index, event.snapshot.kept, "restores");
      return event.type === "compacted" ? judge(states, id, event.index, event.kept, "keeps") : undefined;
    },
  };
}

function judge(
  states: ReadonlyMap<number, string>,
  id: NodeId,
  index: number,
  kept: unknown,
  does: string,
): string | undefined {
  const state = states.get(index);
  const text = JSON.stringify(kept);
  return text === state
    ? undefined
    : `${id} ${does} ${text} after ${index}; the log up to there makes ${state ?? "nothing"}`;
}
