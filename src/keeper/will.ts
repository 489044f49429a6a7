// Gives back for a process that is dead what it had at a store.
//
// Conditioned on session and bid, never on version: a renewal of the dead that is still under way may move the version, and must not save it. It ENDS the
// session: what arrives of it later is refused. A later process of the same name has another session and another bid, so that nothing of it is touched.
import { monotonicMs } from "./monotonic.ts";
import type { Store, Will } from "../stores/contract.ts";

/** How long the store may take to answer. */
export const WILL_TIMEOUT_MS = 4000;

/** Undefined if the store said that nothing of it stands any more; otherwise why that is not known. */
export async function executeWill(store: Store, will: Will): Promise<string | undefined> {
  const call = { signal: AbortSignal.timeout(WILL_TIMEOUT_MS), sentAtMs: monotonicMs() };
  const released = await store.release(will, call);
  return released.kind === "released" ? undefined : released.kind;
}
