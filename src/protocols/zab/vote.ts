// The comparison of two votes, and the count that is enough. Nothing here changes anything.
import type { NodeId } from "../node.ts";
import type { Notification, Vote, ZabState } from "./state.ts";

/** A history: the epoch it belongs to, then its length. */
export interface History {
  readonly peerEpoch: number;
  readonly zxid: number;
}

/** The epoch counts first: a longer history of an older epoch has lost its end to a newer leader. */
export function compareHistories(a: History, b: History): number {
  return a.peerEpoch !== b.peerEpoch ? a.peerEpoch - b.peerEpoch : a.zxid - b.zxid;
}

/** ZooKeeper's totalOrderPredicate: peerEpoch, zxid, id; a peer of weight 0 never wins. */
export function isBetter(state: ZabState, vote: Vote, than: Vote): boolean {
  if (weightOf(state, vote.leader) === 0) return false;
  const order = compareHistories(vote, than);
  return order !== 0 ? order > 0 : vote.leader > than.leader;
}

/** In an election two votes are the same only if all their fields are. */
export function isSameVote(a: Vote, b: Vote): boolean {
  return a.leader === b.leader && a.zxid === b.zxid && a.round === b.round && a.peerEpoch === b.peerEpoch;
}

/**
 * Outside an election only the leader and its epoch matter. Two peers that follow the same leader may have elected it in different rounds, and a newcomer must find a quorum among them. A peer that still
 * looks has voted in one round, so then all fields count.
 */
export function isSameChoice(a: Notification, b: Notification): boolean {
  if (a.state === "looking" || b.state === "looking") return isSameVote(a, b);
  return a.leader === b.leader && a.peerEpoch === b.peerEpoch;
}

/** Undefined: it is no member. */
export function weightOf(state: ZabState, id: NodeId): number | undefined {
  return state.weights.get(id);
}

/** A quorum has more than half of all weight. */
export function isQuorum(state: ZabState, ids: Iterable<NodeId>): boolean {
  let [all, some] = [0, 0];
  for (const weight of state.weights.values()) all += weight;
  for (const id of ids) some += weightOf(state, id) ?? 0;
  return some * 2 > all;
}

/** Returns those peers that cast this vote. */
export function votersFor(
  votes: ReadonlyMap<NodeId, Notification>,
  isSo: (vote: Notification) => boolean,
): readonly NodeId[] {
  const voters: NodeId[] = [];
  for (const [id, vote] of votes) if (isSo(vote)) voters.push(id);
  return voters;
}
