// Nobody answers with, or leads in, a term or a vote that its disk does not know: so a crash undoes nothing that a peer relies on, and the durable term never falls below what
// was said. Raft, figure 2 ("updated on stable storage before responding"). A candidate's question and a pre-vote promise nothing.
import type { RaftMessage, RaftWrite } from "../../../protocols/raft/state.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Member → the greatest term it has spoken of. */
  readonly told: number[];
}

export const durablePromises: Invariant<Memory> = {
  name: "durable-promises",
  remember: (nodes) => ({ told: Array.from({ length: nodes + 1 }, () => 0) }),
  sent({ told }, view, from, to, message) {
    const sent = message as RaftMessage;
    if (sent.type === "VOTE" || sent.type === "PRE-VOTE" || (sent.type === "PRE-VOTED" && sent.isGranted))
      return undefined;
    const image = view.member(from).disk.image as RaftWrite | undefined;
    const durable = image?.term ?? 0;
    if (sent.term > (told[from] as number)) told[from] = sent.term;
    if (durable < sent.term)
      return `${from} speaks of term ${sent.term}, and its disk knows ${durable}: ${sent.type} to ${to}`;
    const isVote = sent.type === "VOTED" && sent.isGranted && durable === sent.term;
    return isVote && image?.vote !== to
      ? `${from} gives ${to} a vote in term ${sent.term} that is not on its disk`
      : undefined;
  },
  started({ told }, _view, { id, disk }) {
    const durable = (disk.image as RaftWrite | undefined)?.term ?? 0;
    return durable < (told[id] as number)
      ? `${id} has spoken of term ${told[id]} and starts again in ${durable}`
      : undefined;
  },
};
