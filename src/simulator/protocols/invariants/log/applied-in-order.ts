// A machine is given every index once in a life, in order: after a snapshot the next one, at first 1. A snapshot never takes the machine back. A host relies on this.
import type { Invariant } from "../invariant.ts";
import { perMember } from "../memory.ts";

interface Memory {
  /** Member → the last index that its machine was given in this life. */
  readonly last: number[];
  readonly lives: number[];
}

export const appliedInOrder: Invariant<Memory> = {
  name: "applied-in-order",
  remember: (nodes) => ({ last: perMember(nodes, () => 0), lives: perMember(nodes, () => 0) }),
  hosted({ last, lives }, _view, { id, life }, event) {
    if (event.type !== "applied" && event.type !== "restored") return undefined;
    const before = lives[id] === life ? (last[id] ?? 0) : 0;
    const index = event.type === "applied" ? event.entry.index : event.snapshot.index;
    last[id] = index;
    lives[id] = life;
    if (event.type === "restored")
      return index < before ? `${id} restores the snapshot of ${index} over a machine at ${before}` : undefined;
    return index === before + 1 ? undefined : `${id} applies ${index} after ${before}`;
  },
};
