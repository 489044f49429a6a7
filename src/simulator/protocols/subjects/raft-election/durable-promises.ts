// No member answers with, or leads in, a term or a vote that its disk does not have: so a crash undoes nothing that a peer relies on, and the durable term never falls below one that was told. Raft,
// figure 2 ("updated on stable storage before responding"). A candidate's question and a pre-vote promise nothing.
import { perMember } from "../../invariants/memory.ts";
import type { RaftInvariant } from "./types.ts";

interface Memory {
  /** Member → the greatest term it has spoken of. */
  readonly told: number[];
}

export const durablePromises: RaftInvariant<Memory> = {
  name: "durable-promises",
  remember: (nodes) => ({ told: perMember(nodes, () => 0) }),
  sent({ told }, view, from, to, sent) {
    if (sent.type === "VOTE" || sent.type === "PRE-VOTE" || (sent.type === "PRE-VOTED" && sent.isGranted))
      return undefined;
    const image = view.member(from).disk.image;
    const durable = image?.term ?? 0;
    if (sent.term > (told[from] ?? 0)) told[from] = sent.term;
    if (durable < sent.term)
      return `${from} speaks of term ${sent.term}, and its disk knows ${durable}: ${sent.type} to ${to}`;
    const isVote = sent.type === "VOTED" && sent.isGranted && durable === sent.term;
    return isVote && image?.vote !== to
      ? `${from} gives ${to} a vote in term ${sent.term} that is not on its disk`
      : undefined;
  },
  started({ told }, _view, { id, disk }) {
    const durable = disk.image?.term ?? 0;
    return durable < (told[id] ?? 0)
      ? `${id} has spoken of term ${told[id]} and starts again in ${durable}`
      : undefined;
  },
};
