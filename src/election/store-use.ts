// Candidates share stores. The last one to close a store's use closes what the driver itself opened; a client that the user made stays open.
import { processWide } from "../base/process-wide.ts";
import type { Store } from "../stores/contract.ts";

const uses = processWide("store-uses.1", () => new WeakMap<Store, number>());

/** Returns how to give it back. */
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
