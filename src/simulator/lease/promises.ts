// The numbers by which the invariants of a world judge. They are derived from the world's declarations and not from its secret draws.
import { guaranteeOf } from "./guarantees.ts";
import { grantedMs } from "./create-shelf.ts";
import type { Promises } from "./observation.ts";
import type { WorldSpec } from "./spec.ts";

export function promisesOf(spec: WorldSpec): Promises {
  const { shape, keep, keepProves, proofWithinMs, holdsPerKeep } = guaranteeOf(spec.store);
  return {
    shape,
    keep,
    takesTurns: holdsPerKeep !== undefined,
    keepProves,
    proofWithinMs,
    extraMarginMs: spec.store.extraMarginMs, // declared before the opening or with it, and binding in either case
    rho: spec.rho,
    ttlMaxMs: ttlMaxMs(spec),
    candidates: spec.candidates,
  };
}

function ttlMaxMs(spec: WorldSpec): number {
  return Math.max(...spec.candidates.map(({ ttlMs }) => Math.max(ttlMs, grantedMs(spec.store, ttlMs))));
}

/**
 * The longest time after calm until some candidate leads, and until a candidate that stands alone does:
 *
 *   overstay + late + 2·lock-delay + jumps + slow + 7·ttl·(1+3ρ) + 1000 ms
 *
 * overstay: work of a lost term must settle first. late, jumps: the store may end the last session this much later. slow: messages that were sent before calm may still arrive. Of the 7 ttl: 1 for a dead
 * session to expire, 1 for the silence of a taker, 1 for a cool-down, 1 for the candidate's own session to be given up and opened anew, 2 for retries and requests that hang, 1 for polls that just
 * missed. 1000 ms: the longest poll interval.
 */
export function successionMs(spec: WorldSpec): number {
  const overstayMs = Math.max(...spec.candidates.map(({ work }) => work.overstayMaxMs));
  const backwards = spec.faults.filter(({ kind, amountMs }) => kind === "jump" && amountMs < 0);
  const jumpsMs = backwards.reduce((sum, { amountMs }) => sum - amountMs, 0);
  return (
    overstayMs +
    spec.store.lateMaxMs +
    2 * spec.store.lockDelayMs +
    jumpsMs +
    spec.network.slowMaxMs +
    7 * ttlMaxMs(spec) * (1 + 3 * spec.rho) +
    1000
  );
}
