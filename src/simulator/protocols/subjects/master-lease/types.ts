// Invariants of master leases, and what they see: typed by its states, its messages and what its disks hold.
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
