// Whatever an election asks of the log, and nothing else does. There is no log yet: each member's ends where it was told, for good. When it joins, these
// functions look at it, and no other file of the election changes.
import type { NodeId } from "../node.ts";
import type { RaftState } from "./state.ts";

/** The last entry: its term and its index. 0, 0: none. */
export interface LogEnd {
  readonly term: number;
  readonly index: number;
}

/** Raft, section 5.4.1: the later last term wins; of equal ones the longer log. A vote needs the candidate's log to be as good as one's own. */
export function isUpToDate(candidate: LogEnd, own: LogEnd): boolean {
  return candidate.term > own.term || (candidate.term === own.term && candidate.index >= own.index);
}

/**
 * What a candidate may show. Not what is still being written: a crash would take it, and votes that were given for it would count for a shorter log if
 * the same member stands in the same term again (vote.ts).
 */
export function logOnDisk(state: RaftState): LogEnd {
  return state.log;
}

/** Thesis, section 3.10: only a member that has the leader's whole log can take over. Without entries to send, any member can. */
export function isCaughtUp(state: RaftState, peer: NodeId): boolean {
  return state.peers.includes(peer);
}
