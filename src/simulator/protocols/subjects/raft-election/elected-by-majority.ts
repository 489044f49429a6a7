// A leader was given the votes of a majority in that term, and its own vote is on its disk. Raft, section 5.2. Term 0 is that of a leader from before the
// world began.
import { type Ballots, candidateOf, emptyBallots, seeVote } from "./ballots.ts";
import type { RaftInvariant } from "./types.ts";

export const electedByMajority: RaftInvariant<Ballots> = {
  name: "elected-by-majority",
  remember: emptyBallots,
  sent(ballots, _view, from, to, message) {
    seeVote(ballots, from, to, message);
    return undefined;
  },
  announced(ballots, view, { id, role, term, disk }) {
    if (role !== "leader" || term === 0) return undefined;
    const image = disk.image;
    if (image?.term !== term || image.vote !== id)
      return `${id} leads in term ${term} by an own vote that is not on its disk`;
    let votes = 1;
    for (let voter = 1; voter <= view.nodes; voter++)
      if (voter !== id && candidateOf(ballots, voter, term) === id) votes++;
    return votes * 2 > view.nodes ? undefined : `${id} leads in term ${term} with ${votes} of ${view.nodes} votes`;
  },
};
