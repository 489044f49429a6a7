// What the runner says to those who stand, and asks of them.
import type { ConclaveError, LossReason } from "../base/errors.ts";
import type { Bid, Token } from "../lease/exchange.ts";

/** Who stands for a name: told what becomes of it. */
export interface Contender {
  elected(bid: Bid, token: Token | undefined): void;
  ending(reason: LossReason): void;
  lost(reason: LossReason): void;
  contested(): void;
  /** The store did not answer, or refused; it is asked again. `isOnlyOne`: nobody else is concerned. */
  troubled(error: ConclaveError, isOnlyOne: boolean): void;
  /** The store was told of the end of a term, or could not be. */
  released(): void;
  /** Nothing of its last term is left to do: it cannot overstay. */
  hasSettled(): boolean;
  /** Neither wanted nor held any more, and settled. Or it could never have been (`error`). */
  free(error?: ConclaveError): void;
}
