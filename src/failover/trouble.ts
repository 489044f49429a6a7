// The message of a monitor or a guard about an error after which it goes on.
import { isConclaveError } from "../base/errors.ts";

/** Returns `what` with the reason, where there is one. */
export function troubleOf(what: string, error?: unknown): { readonly type: "trouble"; readonly what: string } {
  const why = isConclaveError(error) ? `${error.code}: ${error.message}` : error instanceof Error ? error.message : "";
  return { type: "trouble", what: why === "" ? what : `${what}: ${why}` };
}
