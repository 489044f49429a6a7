// @ts-check
// A file of SQL, imported by a module, is its text: for rolldown, which builds the package and bundles for tests, and for vitest, which runs src as it is.
import { readFileSync } from "node:fs";

/** A plugin of both. */
export const sqlText = {
  name: "sql as text",
  load: (/** @type {string} */ id) => (id.endsWith(".sql") ? sqlModule(readFileSync(id, "utf8")) : null),
};

/** The module that stands for a file of SQL. @param {string} text */
export function sqlModule(text) {
  return { code: `export const sql = ${JSON.stringify(text)};`, moduleType: /** @type {const} */ ("js") };
}
