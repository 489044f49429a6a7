// A proposal that a client was told is done is never lost: from then on a majority of the disks has it, whatever crashes. It is judged by the last that was acknowledged, since a log that has an entry
// has all before it (log-matching.ts). Raft, section 5.4 (Leader Completeness).
import type { LogPlace } from "../../../../protocols/log-node.ts";
import type { Invariant } from "../invariant.ts";
import { holdersOf } from "./committed-on-majority.ts";

interface Memory {
  last: LogPlace | undefined;
}

export const keptAcknowledgements: Invariant<Memory> = {
  name: "kept-acknowledgements",
  remember: () => ({ last: undefined }),
  hosted(memory, _view, _member, event) {
    if (event.type === "acknowledged" && event.index > (memory.last?.index ?? 0))
      memory.last = { index: event.index, term: event.term };
    return undefined;
  },
  after: ({ last }, view) => {
    if (last === undefined || holdersOf(view, last) * 2 > view.nodes) return undefined;
    return `a client was told that ${last.index} of term ${last.term} is done, and most disks do not have it`;
  },
};
