// A member votes for at most one candidate in a term, in however many lives. Raft, section 5.2; what Election Safety rests on.
import { type Ballots, emptyBallots, seeVote } from "../votes.ts";
import type { Invariant } from "./invariant.ts";

export const oneVotePerTerm: Invariant<Ballots> = {
  name: "one-vote-per-term",
  remember: emptyBallots,
  sent(ballots, _view, from, to, message) {
    const other = seeVote(ballots, from, to, message);
    return other === undefined
      ? undefined
      : `${from} voted for ${other}, and in the same term for another: ${message.type} to ${to}`;
  },
};
