// A member that is told of a newer term, by an answer or by a leader that hands over, takes it over. Raft, section 5.1. A granted pre-vote tells of none: its term is only asked for. loyal-followers.ts
// has the messages that loyal followers may ignore, and obeyed-leader.ts the messages of leaders.
import type { NodeId } from "../../../../protocols/node.ts";
import type { RaftMessage } from "../../../../protocols/raft/state.ts";
import type { RaftInvariant, RaftMember } from "./types.ts";

export const newestTerm: RaftInvariant = {
  name: "newest-term",
  remember: () => ({}),
  received: { VOTED: judge, APPENDED: judge, "PRE-VOTED": judge, "TIMEOUT-NOW": judge },
};

function judge(
  _memory: object,
  _view: unknown,
  { id, state }: RaftMember,
  from: NodeId,
  told: RaftMessage,
): string | undefined {
  const { term } = state;
  if (told.term <= term || (told.type === "PRE-VOTED" && told.isGranted)) return undefined;
  return `${id} was told of term ${told.term} by the ${told.type} of ${from}, and is in ${term}`;
}
