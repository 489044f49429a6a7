// The calls between the runner and the contests that stand for a name.
import type { ConclaveError, LossReason } from "../base/errors.ts";
import type { Bid, Token } from "../lease/exchange.ts";

/** A contest that stands for a name. The runner tells it what happens. */
export interface Contender {
  elected(bid: Bid, token: Token | undefined): void;
  ending(reason: LossReason): void;
  lost(reason: LossReason): void;
  contested(): void;
  /** The store did not answer, or refused, and is asked again. `isOnlyOne`: no other contender is affected. */
  troubled(error: ConclaveError, isOnlyOne: boolean): void;
  /** The store was told of the end of a term, or could not be. */
  released(): void;
  /** True if nothing of its last term is left to do, so that it cannot overstay. */
  hasSettled(): boolean;
  /** The name is neither wanted nor held any more, and everything has settled. With `error`, it could never have been granted. */
  free(error?: ConclaveError): void;
}
