// Invariants of ZAB, and what they see: typed by its states, its messages and what its disks hold.
import type { ZabImage, ZabMessage, ZabState } from "../../../../protocols/zab/state.ts";
import type { Invariant, SeenMember, WorldView } from "../../invariants/invariant.ts";

export type ZabInvariant<Memory extends object = object> = Invariant<Memory, ZabState, ZabMessage, ZabImage>;
export type ZabMember = SeenMember<ZabState, ZabImage>;
export type ZabView = WorldView<ZabState, ZabImage>;
