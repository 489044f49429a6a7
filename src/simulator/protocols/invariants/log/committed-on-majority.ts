// An entry that a machine is given is on the disks of a majority: only such an entry outlives a crash of any minority. The disks count, not the memory or the words of members. Raft, section 5.3
// (committed entries are durable).
import type { LogPlace } from "../../../../protocols/log-node.ts";
import type { Invariant, WorldView } from "../invariant.ts";

export const committedOnMajority: Invariant = {
  name: "committed-on-majority",
  remember: () => ({}),
  hosted(_memory, view, { id }, event) {
    if (event.type !== "applied") return undefined;
    const holders = holdersOf(view, event.entry);
    return holders * 2 > view.nodes
      ? undefined
      : `${id} applies ${event.entry.index}, which ${holders} of ${view.nodes} disks have`;
  },
};

export function holdersOf({ members }: WorldView, place: LogPlace): number {
  return members.filter(({ log }) => log?.holds(place) === true).length;
}
