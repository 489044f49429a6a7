// Invariants of the toy log alone: typed by its states, its messages and what its disks hold.
import type { HostEvent, Invariant } from "../../invariants/invariant.ts";
import type { Assignment, KeptShelf } from "./machine.ts";
import type { ToyImage, ToyMessage, ToyState } from "./state.ts";

export type ToyInvariant<Memory extends object = object> = Invariant<
  Memory,
  ToyState,
  ToyMessage,
  ToyImage,
  HostEvent<Assignment, KeptShelf>
>;
