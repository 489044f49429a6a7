// The SQLite bindings that this Node can load. `libsql` is a development dependency and has better-sqlite3's face; `node:sqlite` needs no flag since Node 22.13.
import { createRequire } from "node:module";
import type { SqliteConnection } from "conclave/fencing";

export interface Database extends SqliteConnection {
  close(): unknown;
}

export interface Binding {
  readonly name: string;
  readonly open: (file: string) => Database;
}

type Constructor = new (file: string) => Database;
const require = createRequire(import.meta.url);

function load<T>(name: string, loaded: () => unknown): T {
  try {
    return loaded() as T;
  } catch (cause) {
    throw new Error(`this test needs ${name}, which does not load here; run npm ci`, { cause });
  }
}

const libsql = load<Constructor>("libsql", () => require("libsql"));

/** The same connection through the two methods alone, as a binding that does not say whether a transaction is open. */
const silent: Binding = {
  name: "a binding that does not tell of transactions",
  open: (file) => {
    const database = new libsql(file);
    return {
      prepare: (sql) => database.prepare(sql),
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
    };
  },
};

export const bindings: readonly Binding[] = [
  { name: "libsql", open: (file) => new libsql(file) },
  silent,
  ...(hasNodeSqlite() ? [nodeSqlite()] : []),
];

function hasNodeSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13);
}

function nodeSqlite(): Binding {
  const { DatabaseSync } = load<{ readonly DatabaseSync: Constructor }>("node:sqlite", () => require("node:sqlite"));
  return { name: "node:sqlite", open: (file) => new DatabaseSync(file) };
}
