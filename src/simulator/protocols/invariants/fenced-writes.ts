// The tokens of the writes that a fenced resource has taken never fall (Kleppmann, How to do distributed locking). Split brain or not.
import type { Invariant } from "./invariant.ts";

interface Memory {
  seen: number;
  highest: number;
}

export const fencedWrites: Invariant<Memory> = {
  name: "fenced-writes",
  remember: () => ({ seen: 0, highest: 0 }),
  atRest(memory, view) {
    for (; memory.seen < view.accepted.length; memory.seen++) {
      const { token, node, atMs } = view.accepted[memory.seen] as (typeof view.accepted)[number];
      if (token < memory.highest)
        return `at ${atMs.toFixed(3)} ms a write of ${node} with token ${token} was taken after token ${memory.highest}`;
      memory.highest = token;
    }
    return undefined;
  },
};
