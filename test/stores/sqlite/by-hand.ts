// A database opened beside conclave, as an operator would with a shell. By the binding that the store itself would choose: two copies of SQLite in one
// process undo each other's locks on a file. Loaded by require: libsql's own types do not go with TypeScript 5.9 and JavaScript files in one program.
import { createRequire } from "node:module";

export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: string[]): unknown[]; run(...values: string[]): unknown };
  close(): void;
}

type Constructor = new (file: string) => Database;

const require = createRequire(import.meta.url);

function load(): Constructor {
  for (const name of ["node:sqlite", "better-sqlite3", "libsql"]) {
    try {
      const module = require(name) as Constructor | { readonly DatabaseSync: Constructor };
      return "DatabaseSync" in module ? module.DatabaseSync : module;
    } catch {
      // The next one, then.
    }
  }
  throw new Error("no binding for SQLite is installed");
}

export const Database: Constructor = load();
