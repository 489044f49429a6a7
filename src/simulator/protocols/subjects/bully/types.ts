// The types of Bully's invariants: its states, its messages and the data on its disks.
import type { BullyImage, BullyMessage, BullyState } from "../../../../protocols/bully/state.ts";
import type { Invariant } from "../../invariants/invariant.ts";

export type BullyInvariant<Memory extends object = object> = Invariant<Memory, BullyState, BullyMessage, BullyImage>;
