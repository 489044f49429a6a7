// The types of the invariants of master leases: its states, its messages and the data on its disks.
import type {
  MasterLeaseImage,
  MasterLeaseMessage,
  MasterLeaseState,
} from "../../../../protocols/master-lease/state.ts";
import type { Invariant, SeenMember, WorldView } from "../../invariants/invariant.ts";

export type MasterLeaseInvariant<Memory extends object = object> = Invariant<
  Memory,
  MasterLeaseState,
  MasterLeaseMessage,
  MasterLeaseImage
>;
export type MasterLeaseMember = SeenMember<MasterLeaseState, MasterLeaseImage>;
export type MasterLeaseView = WorldView<MasterLeaseState, MasterLeaseImage>;
