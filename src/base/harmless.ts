// LAW 16. A function that somebody handed to us is called here: whatever it does, nothing is thrown at us and no rejection is left unhandled, because that
// would end the process. It may be asynchronous whatever its type says: TypeScript lets an async function pass for one that returns nothing.

export type Failure = "threw" | "rejected";

/** Calls `call` once. `failed` hears what it threw, or what the promise that it returned rejected with. */
export function harmless(call: () => unknown, failed: (how: Failure, error: unknown) => void): void {
  try {
    const result = call();
    if (isThenable(result)) Promise.resolve(result).then(undefined, (error: unknown) => failed("rejected", error));
  } catch (error) {
    failed("threw", error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

/** An error, or what was thrown in place of one, as text. Some values cannot be made into text: that throws nothing either. */
export function textOfError(error: unknown): string {
  try {
    return String(error);
  } catch {
    return `a value of type ${typeof error}`;
  }
}
