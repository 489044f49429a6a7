// A text as it is written inside a statement of PostgreSQL. E'…' means the same whatever standard_conforming_strings says, and with quote and backslash
// doubled nothing in it ends the literal: our clients speak UTF-8, in which neither byte is part of another character.
//
// Why not parameters: not every client that a user hands us takes them in the same way.

/** The literal; undefined for what PostgreSQL cannot hold: a NUL, half a surrogate pair. */
export function sqlLiteral(text: string): string | undefined {
  if (PLAIN.test(text)) return `'${text}'`;
  if (text.includes("\0") || HALF_PAIR.test(text)) return undefined;
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Most names, ids and bids: nothing in them needs a second look. */
const PLAIN = /^[\w .:@/+-]*$/;
const HALF_PAIR = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
