// What users log or send survives JSON: a bigint becomes decimal text, an error keeps its message. `toJSON` is not enumerable, so that copies, comparisons and
// messages to other threads see plain data.

const DEEPEST = 5;

/** `value` as JSON can say it. What is nested too deep, or in a circle, is cut off. */
export function toPlain(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return "…";
  if (value instanceof Error) return plainError(value, depth);
  if ("toJSON" in value && typeof value.toJSON === "function") return value.toJSON() as unknown;
  if (Array.isArray(value)) return value.map((each) => toPlain(each, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toPlain(each, depth + 1)]));
}

/**
 * Name, message, code and cause, and what else it carries; of an error that is not ours only plain facts, because some carry whole connections. No stack:
 * that is for the log of this process, not for others.
 */
export function plainError(error: Error, depth = 0, isOurs = false): Readonly<Record<string, unknown>> {
  const { name, message, cause } = error;
  const facts = Object.entries(error).filter(
    ([key, value]) => key !== "name" && key !== "cause" && (isOurs || Object(value) !== value),
  );
  return {
    name,
    message,
    ...Object.fromEntries(facts.map(([key, each]) => [key, toPlain(each, depth + 1)])),
    ...(cause === undefined ? {} : { cause: toPlain(cause, depth + 1) }),
  };
}

/** Gives `value` a `toJSON`. */
export function withJson<T extends object>(value: T): T {
  return Object.defineProperty(value, "toJSON", { value: fieldsToJson, configurable: true });
}

function fieldsToJson(this: object): unknown {
  return Object.fromEntries(Object.entries(this).map(([key, each]) => [key, toPlain(each, 1)]));
}
