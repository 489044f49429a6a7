// No member votes, or promises to vote, for a candidate whose log ends before its own. Raft, section 5.4.1 (election restriction), from which Leader Completeness follows.
import type { RaftInvariant } from "./types.ts";

export const votedLog: RaftInvariant = {
  name: "voted-log",
  remember: () => ({}),
  sent(_memory, view, from, to, sent) {
    if ((sent.type !== "VOTED" && sent.type !== "PRE-VOTED") || !sent.isGranted) return undefined;
    const { log: own } = view.member(from).state;
    const { log: candidate } = view.member(to).state;
    const isAsGood = candidate.term === own.term ? candidate.index >= own.index : candidate.term > own.term;
    return isAsGood ? undefined : `${from} grants ${to} ${sent.type}, whose log ends before its own`;
  },
};
