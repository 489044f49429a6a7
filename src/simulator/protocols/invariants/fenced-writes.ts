// The tokens of the writes that a fenced resource has taken never fall (Kleppmann, How to do distributed locking), with or without a split brain.
import type { Invariant } from "./invariant.ts";

interface Memory {
  highest: number;
}

export const fencedWrites: Invariant<Memory> = {
  name: "fenced-writes",
  remember: () => ({ highest: 0 }),
  written(memory, _view, { token, node, atMs }) {
    if (token < memory.highest)
      return `at ${atMs.toFixed(3)} ms a write of ${node} with token ${token} was taken after token ${memory.highest}`;
    memory.highest = token;
    return undefined;
  },
};
