// Declared, not yet written: `conclave/stores/redis` is planned. This is the shape it will have, so that the examples type-check.
// It will be unfenced: Redis has no counter that survives a failover, a restart or an eviction.
import type { UnfencedStore } from "conclave";

/** The one method that is used of a Redis client. */
export interface Evaluator {
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>;
}

export declare function redis(client: Evaluator | string): UnfencedStore;
