// Nobody votes, or promises to, for a candidate whose log ends before its own. Raft, section 5.4.1 (election restriction), from which Leader Completeness follows.
import type { RaftMessage, RaftState } from "../../../protocols/raft/state.ts";
import type { Invariant } from "./invariant.ts";

export const votedLog: Invariant = {
  name: "voted-log",
  remember: () => ({}),
  sent(_memory, view, from, to, message) {
    const sent = message as RaftMessage;
    if ((sent.type !== "VOTED" && sent.type !== "PRE-VOTED") || !sent.isGranted) return undefined;
    const { log: own } = view.member(from).state as RaftState;
    const { log: candidate } = view.member(to).state as RaftState;
    const isAsGood = candidate.term === own.term ? candidate.index >= own.index : candidate.term > own.term;
    return isAsGood ? undefined : `${from} grants ${to} ${sent.type}, whose log ends before its own`;
  },
};
