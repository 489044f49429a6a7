// @ts-check
// A file of SQL, imported by a module, is its text: for rolldown, which builds the package and bundles for tests, and for vitest, which runs src as it is.
import { readFileSync } from "node:fs";

/** A plugin of both. */
export const sqlText = {
  name: "sql as text",
  /** @param {string} id */
  load(id) {
    if (!id.endsWith(".sql")) return null;
    return {
      code: `export const sql = ${JSON.stringify(readFileSync(id, "utf8"))};`,
      moduleType: /** @type {const} */ ("js"),
    };
  },
};
