// Candidates share stores. The last candidate that gives a store back closes the connections that the driver itself opened; a client that the user made stays open.
import { processWide } from "../base/process-wide.ts";
import type { Store } from "../stores/contract.ts";

const uses = processWide("store-uses.1", () => new WeakMap<Store, number>());

/** Returns a function that gives the store back. */
export function borrowStore(store: Store): () => Promise<void> {
  uses.set(store, (uses.get(store) ?? 0) + 1);
  let back = false;
  return async () => {
    if (back) return;
    back = true;
    const left = (uses.get(store) ?? 1) - 1;
    uses.set(store, left);
    if (left === 0) await store.close();
  };
}
