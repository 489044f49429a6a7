// Whoever hears a leader of its own term, or of a newer one, follows it: also one that has just stood in that term itself. Raft, section 5.2: a candidate that
// went on would spoil the term for everybody.
import type { RaftMessage, RaftState } from "../../../protocols/raft/state.ts";
import type { Invariant } from "./invariant.ts";

export const obeyedLeader: Invariant = {
  name: "obeyed-leader",
  remember: () => ({}),
  received: {
    APPEND(_memory, _view, { id, state }, from, message) {
      const heard = message as RaftMessage;
      const { term, role, leader } = state as RaftState;
      if (heard.term < term || (heard.term === term && role === "follower" && leader === from)) return undefined;
      return `${id} has heard that ${from} leads in term ${heard.term}, and is ${role} in term ${term}`;
    },
  },
};
