// Invariants of Raft's election, and what they see: typed by its states, its messages and what its disks hold.
import type { RaftWrite, RaftMessage, RaftState } from "../../../../protocols/raft/state.ts";
import type { Invariant, SeenMember, WorldView } from "../../invariants/invariant.ts";

export type RaftInvariant<Memory extends object = object> = Invariant<Memory, RaftState, RaftMessage, RaftWrite>;
export type RaftMember = SeenMember<RaftState, RaftWrite>;
export type RaftView = WorldView<RaftState, RaftWrite>;
