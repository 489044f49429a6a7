// Gives back for a process that is dead what it had at a store.
//
// The request is conditioned on session and bid, never on the version: a renewal of the dead process that is still under way may change the version,
// and must not save it. The request
// ENDS the session, so that requests of the dead process that arrive later are refused. A later process of the same name has another session and
// another bid, so nothing of it is touched.
import { monotonicMs } from "./monotonic.ts";
import type { Store, Will } from "../stores/contract.ts";

/** How long the store may take to answer. */
export const WILL_TIMEOUT_MS = 4000;

/** Undefined if the store said that nothing of it stands any more; otherwise the reason why that is not known. */
export async function executeWill(store: Store, will: Will): Promise<string | undefined> {
  const call = { signal: AbortSignal.timeout(WILL_TIMEOUT_MS), sentAtMs: monotonicMs() };
  const released = await store.release(will, call);
  return released.kind === "released" ? undefined : released.kind;
}
