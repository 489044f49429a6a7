// A refusal on its way through a driver: thrown where something is found to be wrong, answered where the call of the contract ends. Never thrown to a caller.
import type { RefusalCode, Refused } from "./outcome.ts";

export class Refusal extends Error {
  readonly refused: Refused;

  /** `message` begins with the name of the driver. */
  constructor(
    code: RefusalCode,
    message: string,
    details: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message);
    const { retryable = false, cause } = details;
    this.refused = { kind: "refused", code, message, retryable, ...(cause === undefined ? {} : { cause }) };
  }
}
