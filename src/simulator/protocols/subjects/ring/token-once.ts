// In a ring a member sends on each token of a round once, and never one of a round older than it has sent before, in all its lives. So a token whose owner has died does not circulate for ever, a doubled
// one makes no second trip, and the rest of an aborted round elects nobody. Chang and Roberts 1979 assume this: no failures, no doubles, one election.
import { perMember } from "../../invariants/memory.ts";
import type { RingInvariant } from "./types.ts";

interface Memory {
  /** Member → the round of the last token that it sent, and the tokens that it sent in that round. */
  readonly rounds: number[];
  readonly sent: Set<string>[];
}

export const tokenOnce: RingInvariant<Memory> = {
  name: "token-once",
  remember: (nodes) => ({
    rounds: perMember(nodes, () => 0),
    sent: perMember(nodes, () => new Set<string>()),
  }),
  sent({ rounds, sent }, _view, from, _to, message) {
    if (message.type !== "ELECTION" && message.type !== "ELECTED") return undefined;
    const { type, round, id } = message;
    const [last = 0, known] = [rounds[from], sent[from]];
    if (known === undefined) return undefined;
    if (round < last) return `${from} sends ${type} of round ${round}, and has been in round ${last}`;
    if (round > last) known.clear();
    rounds[from] = round;
    const token = `${type} ${id}`;
    if (known.has(token)) return `${from} sends ${token} of round ${round} twice`;
    known.add(token);
    return undefined;
  },
};
