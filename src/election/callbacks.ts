// The user's functions can do no harm: a listener that throws, or whose promise rejects, is reported as a warning of the process. This happens once for
// each function and way to fail, however often it fails (law 16).
import { type Failure, harmless, textOfError } from "../base/harmless.ts";

/** How each function, or each object with functions, has failed before. */
const warned = new WeakMap<object, Set<Failure>>();

/** Calls a function of the user, and never throws. `what` names it in the warning; `whose` is the object for which one warning is enough. */
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
