// Invariants of rings, and what they see: typed by its states, its messages and what its disks hold.
import type { RingImage, RingMessage, RingState } from "../../../../protocols/ring/state.ts";
import type { Invariant } from "../../invariants/invariant.ts";

export type RingInvariant<Memory extends object = object> = Invariant<Memory, RingState, RingMessage, RingImage>;
