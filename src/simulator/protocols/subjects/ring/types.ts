// The types of the invariants of rings: their states, their messages and the data on their disks.
import type { RingImage, RingMessage, RingState } from "../../../../protocols/ring/state.ts";
import type { Invariant } from "../../invariants/invariant.ts";

export type RingInvariant<Memory extends object = object> = Invariant<Memory, RingState, RingMessage, RingImage>;
