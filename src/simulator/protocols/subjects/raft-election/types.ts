// The types of the invariants of Raft's election: its states, its messages and the data on its disks.
import type { RaftWrite, RaftMessage, RaftState } from "../../../../protocols/raft/state.ts";
import type { Invariant, SeenMember, WorldView } from "../../invariants/invariant.ts";

export type RaftInvariant<Memory extends object = object> = Invariant<Memory, RaftState, RaftMessage, RaftWrite>;
export type RaftMember = SeenMember<RaftState, RaftWrite>;
export type RaftView = WorldView<RaftState, RaftWrite>;
