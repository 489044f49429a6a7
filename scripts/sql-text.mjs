// @ts-check
// A file of SQL or Lua, imported by a module, is its text: for rolldown, which builds the package and bundles for tests, and for vitest, which runs src as it is.
import { readFileSync } from "node:fs";

/** A plugin of both. */
export const sqlText = {
  name: "sql and lua as text",
  load: (/** @type {string} */ id) => (isText(id) ? textModule(id, readFileSync(id, "utf8")) : null),
};

/** @param {string} id */
export function isText(id) {
  return id.endsWith(".sql") || id.endsWith(".lua");
}

/** The module that stands for such a file: its text, by the name of its language. @param {string} id @param {string} text */
export function textModule(id, text) {
  const language = id.endsWith(".lua") ? "lua" : "sql";
  return { code: `export const ${language} = ${JSON.stringify(text)};`, moduleType: /** @type {const} */ ("js") };
}
