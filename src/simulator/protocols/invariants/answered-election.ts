// A Bully node waits for a coordinator only if the election that it holds now was answered, not an earlier one. Garcia-Molina 1982 assumes it; late
// messages make it a rule.
import type { BullyMessage, BullyState } from "../../../protocols/bully/state.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Member → the greatest election of its that was answered. */
  readonly answered: number[];
}

export const answeredElection: Invariant<Memory> = {
  name: "answered-election",
  remember: (nodes) => ({ answered: Array.from({ length: nodes + 1 }, () => 0) }),
  sent({ answered }, _view, _from, to, message) {
    const { type, number } = message as BullyMessage;
    if (type === "OK" && number > (answered[to] as number)) answered[to] = number;
    return undefined;
  },
  after({ answered }, _view, { id, state }) {
    const { phase, election } = state as BullyState;
    return phase === "yielding" && (answered[id] as number) < election
      ? `${id} waits for a coordinator, but nobody has answered its election ${election}`
      : undefined;
  },
};
