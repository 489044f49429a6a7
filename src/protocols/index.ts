// conclave/protocols: election protocols as pure nodes, `(state, input, now) → state + effects`, for developers who want to host, simulate or draw them. A host gives each node its own random numbers.
export { createRng, type Rng } from "../base/rng.ts";
export { type BullyCommand, type BullyImage, type BullyMessage, type BullyState } from "./bully/state.ts";
export { bully } from "./bully/bully.ts";
export {
  type DetectorKind,
  type DetectorSettings,
  heard,
  suspects,
  suspectsAt,
  type Watch,
  watch,
} from "./detector/detector.ts";
export {
  type Command,
  type Effects,
  type Message,
  NOBODY,
  type NodeId,
  type Parameter,
  type ProtocolNode,
  type Role,
  type NodeSetting,
  type NodeSettings,
  settingsOf,
  type Setup,
} from "./node.ts";
export {
  type LogEntry,
  type LogBounds,
  type LogEffects,
  type LogNode,
  type LogPlace,
  type MemberChange,
  type Membership,
  type Proposed,
  type Snapshot,
  type StateMachine,
  type WhyRefused,
} from "./log-node.ts";
export { raftElection } from "./raft/raft.ts";
export { type RaftCommand, type RaftMessage, type RaftRole, type RaftState, type RaftWrite } from "./raft/state.ts";
export { takesProposals } from "./raft/transfer.ts";
export {
  rendezvousOwner,
  rendezvousOwners,
  type WeightedMember,
  weightedOwner,
  weightedOwners,
} from "./rendezvous/rendezvous.ts";
export { changRoberts } from "./ring/chang-roberts.ts";
export { lelann } from "./ring/lelann.ts";
export { type RingCommand, type RingImage, type RingMessage, type RingState } from "./ring/state.ts";
export { type Vote, type ZabCommand, type ZabImage, type ZabMessage, type ZabState } from "./zab/state.ts";
export { zab } from "./zab/zab.ts";
export { masterLease } from "./master-lease/master-lease.ts";
export {
  type MasterLeaseCommand,
  type MasterLeaseImage,
  type MasterLeaseMessage,
  type MasterLeaseState,
} from "./master-lease/state.ts";
