// LAW 16. What the user's functions do harms nobody: a listener that throws, or whose promise rejects, is reported as a warning of the process, once for
// each function and way to fail, however often it fails.
import { type Failure, harmless, textOfError } from "../base/harmless.ts";

/** How each function, or each object with functions, has failed before. */
const warned = new WeakMap<object, Set<Failure>>();

/** Calls what is the user's, and never throws. `what` it is, for the warning; `whose`, so that one warning is enough. */
export function callUser(what: string, whose: object, call: () => unknown): void {
  harmless(call, (how, error) => {
    const known = warned.get(whose) ?? new Set();
    if (known.has(how)) return;
    warned.set(whose, known.add(how));
    process.emitWarning(`${what} ${how}: ${textOfError(error)}. It does no harm, and is not reported again.`, {
      type: "ConclaveWarning",
      code: "CONCLAVE_LISTENER",
    });
  });
}
