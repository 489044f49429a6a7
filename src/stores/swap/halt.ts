// An answer of the port that ends what was being done: no answer (unknown), or a refusal. It is thrown inside the recipe and becomes the answer of the
// whole call.
import type { Refused, Unknown } from "../../base/outcome.ts";

export class Halt extends Error {
  override readonly name = "Halt";
  readonly outcome: Unknown | Refused;

  constructor(outcome: Unknown | Refused) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}

/** The result of `act`, or the answer of the port that ended it. */
export async function orHalt<T>(act: () => Promise<T>): Promise<T | Unknown | Refused> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Halt) return error.outcome;
    throw error;
  }
}
