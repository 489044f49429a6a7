// memoryFence: guards something that lives in this process, or is reached through it alone. What it remembers lasts as long as the process, so it suits things that
// last no longer either: a cache, a device handle, a test. For a server that may restart take durableFence.
//
// flights.ts says why it is safe.
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { Flights, type Waiting } from "./flights.ts";
import type { Adopted, Lowering, Move } from "./guard.ts";
import { verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";

/** A guard that counts operations in progress. `By` is what it is shown: a signed token if the guard has `verify`. */
export interface Fence<By extends Fenced | Signed = Fenced> {
  /**
   * For a new leader, before it reads anything: installs its token, and resolves when no operation with an older one is in progress any more.
   * Rejects `TOKEN_STALE` if a newer one has been here or comes meanwhile, `FENCE_BUSY` after `waitMs`; the token stays installed then.
   */
  raise(resource: string, by: By, waiting?: Waiting): Promise<void>;
  /** Runs `work` as an operation of this term: raises, runs, and counts it as in progress until it has settled. `work` is given the token that was admitted. */
  run<R>(resource: string, by: By, work: (by: Fenced) => R | Promise<R>, waiting?: Waiting): Promise<R>;
  /** After a deliberate move to another store: tokens of the old domain stay refused. Or a repair, after a token that no store has granted. */
  adopt(resource: string, move: Move | Lowering): Adopted;
}

/** The same as the other form, for signed tokens. */
export function memoryFence(options: Verifying): Fence<Signed>;
/** A guard for something inside this process. It forgets when the process ends. */
export function memoryFence(): Fence;
export function memoryFence(options?: Verifying): Fence<Fenced | Signed> {
  return fenceOver(new Flights(undefined, verifierOf("memoryFence", options, [])));
}

export function fenceOver(flights: Flights): Fence<Fenced | Signed> {
  return {
    async raise(resource, by, waiting) {
      const { leave } = await flights.enter(resource, by, waiting);
      leave();
    },
    async run(resource, by, work, waiting) {
      // Before the token is installed.
      if (typeof work !== "function")
        throw new ConclaveError("CONFIG_INVALID", `a guard: the work ${show(work)} is not a function.`);
      const { token, leave } = await flights.enter(resource, by, waiting);
      try {
        return await work({ token });
      } finally {
        leave();
      }
    },
    adopt: (resource, move) => flights.adopt(resource, move),
  };
}
