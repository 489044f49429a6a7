// SQLite itself: `node:sqlite` where this Node has it, else `better-sqlite3` or `libsql`, whichever is installed. It is loaded at first use and only then. All three are used by the methods that they
// share, so that a user's open database of any of them will do.
//
// Numbers above 2⁵³ are cast to text in the SQL, so it does not matter whether a connection returns numbers or bigints (`Number` takes both).
import { show } from "../../base/show.ts";
import { flawOf } from "../../base/text.ts";
import { loadPeer } from "../load-peer.ts";
import { Refusal } from "../../base/refusal.ts";
import type { Row } from "../row.ts";

export type Value = string | number | null;

/** The part of an open database that is used: `DatabaseSync` of node:sqlite, `Database` of better-sqlite3 or of libsql. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    all(...values: string[]): unknown[];
    run(...values: string[]): unknown;
  };
}

/** All three take numbers and null too; libsql's types say so in a way that no plain type fits. */
interface Statement {
  all(...values: Value[]): unknown[];
  run(...values: Value[]): unknown;
}

interface OwnDatabase extends SqliteDatabase {
  close(): unknown;
}

export const BINDINGS = ["node:sqlite", "better-sqlite3", "libsql"] as const;
export type BindingName = (typeof BINDINGS)[number];

/** Opens `path` with the binding that is asked for, or with the first one that is installed. Throws a Refusal that says what to install. */
export function openDatabase(path: string, binding: BindingName | undefined): OwnDatabase {
  for (const name of binding === undefined ? BINDINGS : [binding]) {
    const module = load(name);
    if (module !== undefined) return open(name, module, path);
  }
  const asked = binding === undefined ? "no binding for SQLite is installed" : `${binding} is not there`;
  const hint =
    binding === "node:sqlite"
      ? "It comes with Node 22.13 and later (22.5 with --experimental-sqlite)."
      : `Run: npm install ${binding ?? "libsql"}${binding === undefined ? " (or use Node 22.13 or later, which brings one along)" : ""}`;
  throw new Refusal("STORE_UNSUPPORTED", `sqlite: ${asked}. ${hint}`);
}

/** undefined: the binding is not installed. Any other error while it loads is thrown, because the user must hear of it. */
function load(name: BindingName): unknown {
  try {
    return loadPeer(name);
  } catch (error) {
    const message = `sqlite: ${error instanceof Error ? error.message : String(error)}. Reinstall it for this Node: npm rebuild ${name}`;
    throw new Refusal("STORE_UNSUPPORTED", message, { cause: error });
  }
}

function open(name: BindingName, module: unknown, path: string): OwnDatabase {
  type Open = new (path: string) => OwnDatabase;
  const Database = name === "node:sqlite" ? (module as { DatabaseSync: Open }).DatabaseSync : (module as Open);
  return new Database(path);
}

/** A connection with its statements prepared once. */
export class PreparedConnection {
  readonly #database: SqliteDatabase;
  readonly #isOwn: boolean;
  readonly #statements = new Map<string, Statement>();
  /** The file is opened synced (open-file.ts). INVARIANT  false only if synchronous = NORMAL was set, true only if it was not or FULL was set since */
  #isSynced = true;

  /** `isOwn`: nobody else uses it. */
  constructor(database: SqliteDatabase, isOwn: boolean) {
    this.#database = database;
    this.#isOwn = isOwn;
  }

  /** True if each commit is synced, whatever is asked for. */
  get isAlwaysSynced(): boolean {
    return !this.#isOwn;
  }

  /** Decides whether the next commits are on the disk when they are answered. A user's own connection stays as it is: synced. Throws inside a transaction. */
  setSynced(synced: boolean): void {
    if (synced === this.#isSynced || !this.#isOwn) return;
    this.#database.exec(`PRAGMA synchronous = ${synced ? "FULL" : "NORMAL"}`);
    this.#isSynced = synced;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  all(sql: string, ...values: Value[]): readonly Row[] {
    checkTexts(values);
    return this.#statement(sql).all(...values) as Row[];
  }

  run(sql: string, ...values: Value[]): void {
    checkTexts(values);
    this.#statement(sql).run(...values);
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made: Statement = this.#database.prepare(sql);
    this.#statements.set(sql, made);
    return made;
  }
}

/** libsql ends the process at half of a surrogate pair, and other bindings keep only the text before a NUL: so such texts never reach them. */
export function checkTexts(values: readonly Value[]): void {
  for (const value of values) {
    const flaw = typeof value === "string" ? flawOf(value) : undefined;
    if (flaw !== undefined)
      throw new Refusal("STORE_UNSUPPORTED", `sqlite: ${show(value)} cannot be kept: ${flaw}. Nothing was written.`);
  }
}
