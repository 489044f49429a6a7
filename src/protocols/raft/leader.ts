// A leader tells everybody at once, and again at each heartbeat. When the log joins, its first entry in its term will be a no-op (Raft, section 8).
import { NOBODY, type NodeId } from "../node.ts";
import { noteActive, watchQuorum } from "./check-quorum.ts";
import { becomeFollower, enterRole } from "./role.ts";
import { HEARTBEAT, type RaftEffects, type RaftMessage, type RaftState } from "./state.ts";

export function becomeLeader(state: RaftState, effects: RaftEffects): void {
  enterRole(state, "leader", effects);
  state.leader = state.id;
  effects.announce("leader", state.id, state.term);
  watchQuorum(state, effects);
  beat(state, effects);
}

export function beat(state: RaftState, effects: RaftEffects): void {
  const message: RaftMessage = { type: "APPEND", term: state.term };
  for (const peer of state.peers) effects.send(peer, message);
  effects.setTimer(HEARTBEAT, state.heartbeatMs);
}

/** Only an answer in this term says that the peer follows this leader. */
export function handleAppended(state: RaftState, from: NodeId, term: number, effects: RaftEffects): void {
  if (term > state.term) becomeFollower(state, term, NOBODY, effects);
  else if (term === state.term && state.role === "leader") noteActive(state, from);
}
