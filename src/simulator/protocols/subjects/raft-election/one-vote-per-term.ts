// A member votes for at most one candidate in a term, in however many lives. Raft, section 5.2; Election Safety rests on this.
import type { NodeId } from "../../../../protocols/node.ts";
import { type Ballots, emptyBallots, noteVote, seeVote } from "./ballots.ts";
import type { RaftInvariant } from "./types.ts";

export const oneVotePerTerm: RaftInvariant<Ballots> = {
  name: "one-vote-per-term",
  remember: emptyBallots,
  sent(ballots, _view, from, to, message) {
    return told(from, to, seeVote(ballots, from, to, message));
  },
  announced(ballots, _view, { id, role, term }) {
    return role === "leader" ? told(id, id, noteVote(ballots, id, id, term)) : undefined;
  },
};

function told(voter: NodeId, candidate: NodeId, other: NodeId | undefined): string | undefined {
  return other === undefined
    ? undefined
    : `${voter} votes for ${candidate}, and has voted for ${other} in the same term`;
}
