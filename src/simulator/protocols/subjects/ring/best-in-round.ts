// The winner of a round of a ring is the best of the members that are in it: the winner's token, or the tokens of all others, have passed all of them. A round is not judged if a member started while it
// ran: then a token may have died with that member's earlier life (see the head of lelann.ts). Chang and Roberts 1979; LeLann 1977.
import type { RingInvariant } from "./types.ts";

interface Memory {
  /** The newest round, and the time when the first member entered it. */
  round: number;
  sinceMs: number;
}

export const bestInRound: RingInvariant<Memory> = {
  name: "best-in-round",
  remember: () => ({ round: 0, sinceMs: 0 }),
  announced(memory, view, { id, role, term }) {
    if (term > memory.round) {
      memory.round = term;
      memory.sinceMs = view.nowMs;
    }
    if (role !== "leader" || term < memory.round) return undefined;
    if (view.members.some(({ startedMs }) => startedMs >= memory.sinceMs)) return undefined;
    const [mine, rivals] = [view.attributeOf(id), view.members.filter((member) => member.role === "candidate")];
    const better = rivals.find((other) => {
      const theirs = view.attributeOf(other.id);
      return other.term === term && (theirs > mine || (theirs === mine && other.id > id));
    });
    return better === undefined ? undefined : `${id} won round ${term}, in which ${better.id} is better`;
  },
};
