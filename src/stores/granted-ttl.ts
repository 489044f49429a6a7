// The ttl that a store grants where it decides that itself: the one asked for, in whole steps, and within what its guarantee allows.
import type { Guarantee } from "../lease/guarantee.ts";

/** Never less than was asked for, unless that is more than the store can grant. */
export function grantedMs(askedMs: number, { minMs, maxMs, stepMs }: Guarantee["ttl"]): number {
  return Math.min(maxMs, Math.max(minMs, Math.ceil(askedMs / stepMs) * stepMs));
}
