// An entry that a machine is given was on the disks of a majority of the voters when the first machine was given it: so a committed entry outlives a crash of any minority. The disks count, not the memory or
// the words of members. The voters are those of the member that commits: a change of members is in force as soon as it is in the log. Raft, section 5.3 (committed entries are durable).
import type { LogPlace } from "../../../../protocols/log-node.ts";
import type { NodeId } from "../../../../protocols/node.ts";
import type { Invariant, WorldView } from "../invariant.ts";

interface Memory {
  /** The greatest index that any machine was given. */
  applied: number;
}

export const committedOnMajority: Invariant<Memory> = {
  name: "committed-on-majority",
  remember: () => ({ applied: 0 }),
  hosted(memory, view, { id, log }, event) {
    if (event.type !== "applied" || event.entry.index <= memory.applied) return undefined;
    memory.applied = event.entry.index;
    const voters = log?.members().voters ?? [];
    const holders = holdersOf(view, event.entry, voters);
    return holders * 2 > voters.length
      ? undefined
      : `${id} applies ${event.entry.index}, which ${holders} of ${voters.length} disks have`;
  },
};

export function holdersOf({ members }: WorldView, place: LogPlace, voters: readonly NodeId[]): number {
  return members.filter(({ id, log }) => voters.includes(id) && log?.holds(place) === true).length;
}
