// What is done with a text of SQL from a file, before it is sent: a statement is found by its name, and values are put into their places. Text only.
import { assert } from "./assert.ts";

/** Of a file in which each statement begins with its name, as a line `-- NAME` in capitals; comments may follow it, and a `;` ends it. */
export function statementsOf(file: string): (name: string) => string {
  const [, ...parts] = file.split(/^-- ([A-Z_]+)$/m);
  const known = new Map<string, string>();
  for (let at = 0; at < parts.length; at += 2) known.set(parts[at] ?? "", bare(parts[at + 1] ?? ""));
  return (name) => {
    const statement = known.get(name);
    assert(statement !== undefined, `a statement is named ${name}`);
    return statement;
  };
}

/** Without the comments before it and the `;` behind it. */
function bare(part: string): string {
  return part
    .replaceAll(/^--.*\n/gm, "")
    .trim()
    .replace(/;$/, "");
}

/**
 * Puts `values` into the places `$name`. In one pass, so that a value is never searched for places. The tag of a quote (`$name$`) is no place, and a place
 * without a value is a mistake. Nothing is quoted here: each value is written as it stands in a statement.
 */
export function filled(sql: string, values: Readonly<Record<string, string>>): string {
  return sql.replaceAll(/(?<!\$)\$([a-z]+)\b(?!\$)/g, (_, name: string) => {
    const value = values[name];
    assert(value !== undefined, `there is a value for $${name}`);
    return value;
  });
}
