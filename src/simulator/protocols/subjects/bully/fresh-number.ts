// A Bully node never uses an election number of one of its earlier lives: an answer to the earlier election would be taken for an answer to this one.
import { perMember } from "../../invariants/memory.ts";
import type { BullyInvariant } from "./types.ts";

interface Memory {
  /** Member → the greatest number of the lives before this one, and of all. */
  readonly before: number[];
  readonly greatest: number[];
}

export const freshNumber: BullyInvariant<Memory> = {
  name: "fresh-number",
  remember: (nodes) => ({ before: perMember(nodes, () => 0), greatest: perMember(nodes, () => 0) }),
  started({ before, greatest }, _view, { id }) {
    before[id] = greatest[id] ?? 0;
    return undefined;
  },
  sent({ before, greatest }, _view, from, _to, message) {
    const { type, number } = message;
    if (type !== "ELECTION") return undefined;
    if (number > (greatest[from] ?? 0)) greatest[from] = number;
    return number <= (before[from] ?? 0) ? `${from} holds election ${number} for the second time` : undefined;
  },
};
