// A member that hears a leader of its own term, or of a newer one, follows it, even if it has just stood in that term itself. Raft, section 5.2: a candidate that went on would spoil the term for all.
import type { RaftInvariant } from "./types.ts";

export const obeyedLeader: RaftInvariant = {
  name: "obeyed-leader",
  remember: () => ({}),
  received: {
    APPEND(_memory, _view, { id, state }, from, heard) {
      const { term, role, leader } = state;
      if (heard.term < term || (heard.term === term && role === "follower" && leader === from)) return undefined;
      return `${id} has heard that ${from} leads in term ${heard.term}, and is ${role} in term ${term}`;
    },
  },
};
