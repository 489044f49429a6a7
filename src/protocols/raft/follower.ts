// A follower and its leader's APPEND, which is a heartbeat as long as there is no log.
import { type NodeId } from "../node.ts";
import { becomeFollower, waitForElection } from "./role.ts";
import type { RaftEffects, RaftState } from "./state.ts";
import { reply } from "./storage.ts";

/**
 * An older leader is answered too, with the newer term (Raft, figure 2). That frees the old leader, and it also frees a member that got ahead: nobody votes for a member with a newer term while all hear
 * their leader, so it would be shut out for ever if it took that leader's APPEND in silence (check-quorum.ts).
 */
export function handleAppend(state: RaftState, from: NodeId, term: number, now: number, effects: RaftEffects): void {
  if (term >= state.term) hearLeader(state, from, term, now, effects);
  reply(state, from, { type: "APPENDED", term: state.term }, effects);
}

function hearLeader(state: RaftState, from: NodeId, term: number, now: number, effects: RaftEffects): void {
  if (state.leader !== from || term > state.term || state.role !== "follower")
    becomeFollower(state, term, from, effects);
  state.heardAtMs = now;
  waitForElection(state, effects);
}
