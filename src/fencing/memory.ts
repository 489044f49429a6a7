// memoryFence: guards something that lives in this process, or behind it alone. What it remembers lasts as long as the process, so it suits what
// also lasts no longer: a cache, a device handle, a test. For a server that may restart take durableFence.
//
// Why it is safe: flights.ts.
import { Flights, type Waiting } from "./flights.ts";
import type { Adopted, Move } from "./guard.ts";
import type { Fenced } from "./token.ts";

/** A guard that counts operations in progress. */
export interface Fence {
  /**
   * For a new leader, before it reads anything: installs its token, and resolves when no operation with an older one is in progress any more.
   * Rejects `TOKEN_STALE` if a newer one has been here or comes meanwhile, `FENCE_BUSY` after `waitMs`; the token stays installed then.
   */
  raise(resource: string, by: Fenced, waiting?: Waiting): Promise<void>;
  /** Runs `work` as an operation of this term: raises, runs, and counts it as in progress until it has settled. */
  run<R>(resource: string, by: Fenced, work: () => R | Promise<R>, waiting?: Waiting): Promise<R>;
  /** After a deliberate move to another store. Tokens of the old domain stay refused. */
  adopt(resource: string, move: Move): Adopted;
}

/** A guard for something inside this process. It forgets when the process ends. */
export function memoryFence(): Fence {
  return fenceOver(new Flights());
}

export function fenceOver(flights: Flights): Fence {
  return {
    async raise(resource, by, waiting) {
      const leave = await flights.enter(resource, by, waiting);
      leave();
    },
    async run(resource, by, work, waiting) {
      const leave = await flights.enter(resource, by, waiting);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    adopt: (resource, move) => flights.adopt(resource, move),
  };
}
