// Whoever is told of a newer term, by an answer or by a leader that hands over, takes it over. Raft, section 5.1. A granted pre-vote tells of none: its term is only
// asked for. What loyal followers may ignore is in loyal-followers.ts, and what leaders say in obeyed-leader.ts.
import type { Message, NodeId } from "../../../protocols/protocol.ts";
import type { RaftMessage, RaftState } from "../../../protocols/raft/state.ts";
import type { Member } from "../member.ts";
import type { Invariant } from "./invariant.ts";

export const newestTerm: Invariant = {
  name: "newest-term",
  remember: () => ({}),
  received: { VOTED: judge, APPENDED: judge, "PRE-VOTED": judge, "TIMEOUT-NOW": judge },
};

function judge(
  _memory: object,
  _view: unknown,
  { id, state }: Member,
  from: NodeId,
  message: Message,
): string | undefined {
  const told = message as RaftMessage;
  const { term } = state as RaftState;
  if (told.term <= term || (told.type === "PRE-VOTED" && told.isGranted)) return undefined;
  return `${id} was told of term ${told.term} by the ${told.type} of ${from}, and is in ${term}`;
}
