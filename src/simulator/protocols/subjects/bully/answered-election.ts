// A Bully node waits for a coordinator only if its present election was answered, not an earlier one. Garcia-Molina 1982 assumes this; with late messages it has to be a rule.
import { perMember } from "../../invariants/memory.ts";
import type { BullyInvariant } from "./types.ts";

interface Memory {
  /** Member → the greatest of its elections that was answered. */
  readonly answered: number[];
}

export const answeredElection: BullyInvariant<Memory> = {
  name: "answered-election",
  remember: (nodes) => ({ answered: perMember(nodes, () => 0) }),
  sent({ answered }, _view, _from, to, message) {
    const { type, number } = message;
    if (type === "OK" && number > (answered[to] ?? 0)) answered[to] = number;
    return undefined;
  },
  after({ answered }, _view, { id, state }) {
    const { phase, election } = state;
    return phase === "yielding" && (answered[id] ?? 0) < election
      ? `${id} waits for a coordinator, but nobody has answered its election ${election}`
      : undefined;
  },
};
