// Invariants of Bully, and what they see: typed by its states, its messages and what its disks hold.
import type { BullyImage, BullyMessage, BullyState } from "../../../../protocols/bully/state.ts";
import type { Invariant } from "../../invariants/invariant.ts";

export type BullyInvariant<Memory extends object = object> = Invariant<Memory, BullyState, BullyMessage, BullyImage>;
