// All questions that an election asks of the log are in this file. There is no log yet: each member's log ends where it was told, for good. When the log joins, these functions look at it, and no other
// file of the election changes.
import type { NodeId } from "../node.ts";
import type { RaftState } from "./state.ts";

/** The term and the index of the last entry. 0, 0: there is none. */
export interface LogEnd {
  readonly term: number;
  readonly index: number;
}

/** Raft, section 5.4.1: the later last term wins; of equal terms the longer log. A member votes only for a candidate whose log is as good as its own. */
export function isUpToDate(candidate: LogEnd, own: LogEnd): boolean {
  return candidate.term > own.term || (candidate.term === own.term && candidate.index >= own.index);
}

/**
 * The end of the log that a candidate may show. Entries that are still being written do not count: a crash would take them, and votes that were given for them would count for a shorter log if the same
 * member stands in the same term again (vote.ts).
 */
export function logOnDisk(state: RaftState): LogEnd {
  return state.log;
}

/** Thesis, section 3.10: only a member that has the leader's whole log can take over. Without entries to send, any member can. */
export function isCaughtUp(state: RaftState, peer: NodeId): boolean {
  return state.peers.includes(peer);
}
