// The types of the invariants of the toy log alone: its states, its messages and the data on its disks.
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
