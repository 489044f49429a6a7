/** The call of a function as a statement of its own: it needs no earlier statement on the connection, and leaves nothing behind. */
export function callText(name: string, args: readonly string[], more = ""): string {
  return `SELECT ${name}(${args.join(", ")})::text AS answer${more}`;
}
