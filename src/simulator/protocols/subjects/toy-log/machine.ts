// The toy's state machine: keys with the last value that was set, and the number of times that each was set, so that an entry that is lost or applied twice shows.
import type { StateMachine } from "../../../../protocols/log-node.ts";

export interface Assignment {
  readonly key: string;
  readonly value: number;
}

interface ToyCell {
  readonly value: number;
  readonly sets: number;
}

export interface ToyShelf {
  readonly cells: Map<string, ToyCell>;
}

/** The keys are sorted, so that equal shelves are kept alike. */
export type KeptShelf = readonly (readonly [key: string, value: number, sets: number])[];

export const toyMachine: StateMachine<ToyShelf, Assignment, KeptShelf> = {
  create: () => ({ cells: new Map() }),
  apply({ cells }, { key, value }) {
    cells.set(key, { value, sets: (cells.get(key)?.sets ?? 0) + 1 });
  },
  snapshot: ({ cells }) =>
    [...cells].map(([key, { value, sets }]) => [key, value, sets] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  restore: (kept) => ({ cells: new Map(kept.map(([key, value, sets]) => [key, { value, sets }])) }),
};
