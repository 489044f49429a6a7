// A Bully node never uses an election number of one of its earlier lives: an answer to that one would be taken for an answer to this one.
import type { BullyMessage } from "../../../protocols/bully/state.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Member → the greatest number of the lives before this one, and of all. */
  readonly before: number[];
  readonly greatest: number[];
}

export const freshNumber: Invariant<Memory> = {
  name: "fresh-number",
  remember: (nodes) => {
    const zeros = (): number[] => Array.from({ length: nodes + 1 }, () => 0);
    return { before: zeros(), greatest: zeros() };
  },
  started({ before, greatest }, _view, { id }) {
    before[id] = greatest[id] as number;
    return undefined;
  },
  sent({ before, greatest }, _view, from, _to, message) {
    const { type, number } = message as BullyMessage;
    if (type !== "ELECTION") return undefined;
    if (number > (greatest[from] as number)) greatest[from] = number;
    return number <= (before[from] as number) ? `${from} holds election ${number} for the second time` : undefined;
  },
};
