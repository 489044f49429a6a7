// A proposal that a client was told is done is never lost: from then on each majority of the voters has a disk with it, whatever crashes. It is judged by the last that was acknowledged, since a log that has
// an entry has all before it (log-matching.ts). The voters are those of the last change that is committed; while another change is under way, the entry may be on half of them. Raft, section 5.4 (Leader
// Completeness).
import type { LogPlace } from "../../../../protocols/log-node.ts";
import type { NodeId } from "../../../../protocols/node.ts";
import type { Invariant } from "../invariant.ts";
import { holdersOf } from "./committed-on-majority.ts";

interface Memory {
  last: LogPlace | undefined;
  /** The index of the last change of members that was applied, and the voters since then. */
  changedAt: number;
  voters: readonly NodeId[];
}

export const keptAcknowledgements: Invariant<Memory> = {
  name: "kept-acknowledgements",
  remember: (nodes) => ({ last: undefined, changedAt: 0, voters: Array.from({ length: nodes }, (_, at) => at + 1) }),
  hosted(memory, _view, _member, event) {
    if (event.type === "acknowledged" && event.index > (memory.last?.index ?? 0))
      memory.last = { index: event.index, term: event.term };
    if (event.type !== "applied" || event.entry.kind !== "members") return undefined;
    if (event.entry.index > memory.changedAt) {
      memory.changedAt = event.entry.index;
      memory.voters = event.entry.members.voters;
    }
    return undefined;
  },
  after: ({ last, voters }, view) => {
    if (last === undefined || holdersOf(view, last, voters) * 2 >= voters.length) return undefined;
    return `a client was told that ${last.index} of term ${last.term} is done, and most disks do not have it`;
  },
};
