// Who is in the line of a guarded election and obeys no ban: candidates of other programs, and those of Conclave that have no node. While one of them is seen, nobody is shot.
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { Leader } from "../election/face.ts";
import { showsNodeless, type Store } from "../stores/contract.ts";

/** How long a look at the whole line may take. */
const LINE_WITHIN_MS = 5000;
/** The ids of candidates of conclave end with the nonce of their process. */
const OF_CONCLAVE = /_[0-9a-f]{16}-\d+$/;

/** A leader of another program obeys no ban, and does not write who acts. */
export function isStranger({ id }: Leader): boolean {
  return !OF_CONCLAVE.test(id);
}

/**
 * The candidates that lead or wait in the line and obey no ban, where the store can show them. SAFETY: if this cannot be read, it is not taken for an
 * empty list: it rejects, and nothing is decided before it was read.
 */
export async function strangersIn(store: Store, election: string, clock: Clock): Promise<readonly string[]> {
  if (!showsNodeless(store)) return [];
  const call = { signal: AbortSignal.timeout(LINE_WITHIN_MS), sentAtMs: clock.now().mono };
  const shown = await store.showNodeless(election, call);
  if (shown.kind === "nodeless") return shown.candidates;
  const why = shown.kind === "refused" ? shown.message : "no answer";
  throw new ConclaveError("STORE_TIMEOUT", `it is not known who stands in the line of "${election}": ${why}`);
}
