// What users log or send survives JSON: a bigint becomes decimal text, an error keeps its message. `toJSON` is not enumerable, so that copies, comparisons and
// messages to other threads see plain data.

/** `value` as JSON can say it. */
export function toPlain(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || depth > 5) return depth > 5 ? String(value) : value;
  if ("toJSON" in value && typeof value.toJSON === "function") return value.toJSON() as unknown;
  if (value instanceof Error) return plainError(value, depth);
  if (Array.isArray(value)) return value.map((each) => toPlain(each, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toPlain(each, depth + 1)]));
}

/** Name, message, code and cause, and what else it carries. No stack: it is for the log of this process, not for others. */
export function plainError(error: Error, depth = 0): Readonly<Record<string, unknown>> {
  const { name, message, cause } = error;
  const facts = Object.entries(error).filter(([key]) => key !== "name" && key !== "cause");
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
