// The votes of each term: an answer shows the vote of another member, and leading shows a member's own. They are for invariants; the oldest are forgotten.
import type { NodeId } from "../../../../protocols/node.ts";
import type { RaftMessage } from "../../../../protocols/raft/state.ts";
import { forgetOldest } from "../../invariants/memory.ts";
import { NODES_MAX } from "../../spec.ts";

export interface Ballots {
  /** Term and voter → candidate. */
  readonly given: Map<number, NodeId>;
}

const BALLOTS_MAX = 16_384;

export function emptyBallots(): Ballots {
  return { given: new Map() };
}

export function candidateOf({ given }: Ballots, voter: NodeId, term: number): NodeId | undefined {
  return given.get(term * NODES_MAX + voter);
}

/** Returns the other candidate that the same member has voted for in the same term, if there is one. */
export function noteVote({ given }: Ballots, voter: NodeId, candidate: NodeId, term: number): NodeId | undefined {
  const key = term * NODES_MAX + voter;
  const before = given.get(key);
  if (before !== undefined) return before === candidate ? undefined : before;
  given.set(key, candidate);
  forgetOldest(given, BALLOTS_MAX);
  return undefined;
}

export function seeVote(ballots: Ballots, from: NodeId, to: NodeId, sent: RaftMessage): NodeId | undefined {
  return sent.type === "VOTED" && sent.isGranted ? noteVote(ballots, from, to, sent.term) : undefined;
}
