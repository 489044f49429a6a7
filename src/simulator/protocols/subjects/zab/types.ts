// The types of ZAB's invariants: its states, its messages and the data on its disks.
import type { ZabImage, ZabMessage, ZabState } from "../../../../protocols/zab/state.ts";
import type { Invariant, SeenMember, WorldView } from "../../invariants/invariant.ts";

export type ZabInvariant<Memory extends object = object> = Invariant<Memory, ZabState, ZabMessage, ZabImage>;
export type ZabMember = SeenMember<ZabState, ZabImage>;
export type ZabView = WorldView<ZabState, ZabImage>;
