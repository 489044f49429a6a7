// Texts that somebody else may have written: memos, orders, marks. What is read from them is checked field by field by the reader.

/** The fields of a text of JSON. None if it cannot be read, or is no object. */
export function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
