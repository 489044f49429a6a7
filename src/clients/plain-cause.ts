// Somebody else's error, as the cause of one of ours. Clients hang on an error what they were doing when it came: the command with its arguments, the request with its headers, the whole connection. Among
// these are passwords and tokens, and Node prints them with the error. So such an error is rebuilt out of what says what went wrong, and nothing else of it is kept.
import { isConclaveError } from "../base/errors.ts";

/** Plain facts of errors of Node's, of TLS, and of the clients of stores. None of them is what was sent. */
const FACTS = ["code", "errno", "syscall", "address", "port", "hostname", "reason", "severity", "signal", "killed"];
const DEEPEST = 8;
const ERRORS_MAX = 8;

/** `said` takes out of a text what may be secret in it. What is no error is shown by its type alone. */
export function plainCause(error: unknown, said: (text: string) => string = (text) => text, depth = 0): unknown {
  if (isConclaveError(error) || error === undefined || error === null) return error;
  if (typeof error === "string") return said(error);
  const { name, message, stack, cause, errors } = error as Record<string, unknown>;
  if (typeof message !== "string") return new Error(`something was thrown that is no error (${typeof error})`);
  const plain = new Error(said(message));
  const kept: Record<string, unknown> = {
    name: typeof name === "string" ? name : "Error",
    stack: typeof stack === "string" ? said(stack) : plain.stack,
  };
  if (depth < DEEPEST && cause !== undefined) kept["cause"] = plainCause(cause, said, depth + 1);
  if (depth < DEEPEST && Array.isArray(errors))
    kept["errors"] = errors.slice(0, ERRORS_MAX).map((each) => plainCause(each, said, depth + 1));
  for (const [key, value] of Object.entries(kept))
    Object.defineProperty(plain, key, { value, configurable: true, writable: true });
  return Object.assign(plain, factsOf(error as Record<string, unknown>, said));
}

function factsOf(error: Record<string, unknown>, said: (text: string) => string): Readonly<Record<string, unknown>> {
  const facts = FACTS.map((key) => [key, error[key]] as const).filter(([, value]) =>
    ["string", "number", "boolean"].includes(typeof value),
  );
  return Object.fromEntries(facts.map(([key, value]) => [key, typeof value === "string" ? said(value) : value]));
}
