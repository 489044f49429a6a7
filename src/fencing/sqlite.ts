// sqliteFence: for rows in SQLite. The fence is a row in the same database, read and raised inside the transaction that writes; so the check and the
// write are one step, whichever client made that transaction. Works with `node:sqlite`, `better-sqlite3` and `libsql`, by the methods they share.
//
// THE ARGUMENT
//   one step   SQLite has one writer at a time per database. `admit` begins with a write of its own, so from then until COMMIT or ROLLBACK this
//              connection is that writer, also if the transaction was begun without IMMEDIATE. No other transaction can raise the fence between the
//              check and the user's write, nor commit a write after a newer token was installed: it would have to pass `admit` after that commit.
//   law 12     While the new token is installed, no older operation is in progress, because it would hold the writer's lock. What the leader reads
//              after its first `admit`, or after `raise`, is not changed by an older write.
//   snapshot   Where reads came before `admit` in the same transaction and somebody has committed since, that first write fails (SQLITE_BUSY): begin again.
//   crash      Fence and rows are committed together or not at all. With `synchronous` below FULL a power cut may take the last commits back: both
//              alike, so they still fit each other, but an answer already given to a client may be forgotten. That is the user's own setting.
// Needs: every writer of the guarded rows calls `admit` first, inside its transaction, on its own connection.
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { urlOfFile } from "../base/url.ts";
import { admit, adopted, type Adopted, type Lowering, type Move, moveDomain, type Remembered } from "./guard.ts";
import { resourceOf, textOf, tokenOf } from "./input.ts";
import { adoptByCall, adoptByCommand, type HowToAdopt } from "./refusals.ts";
import { type FenceRow, rememberedOf } from "./rows.ts";
import { type Verifier, verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";

/** What is used of a connection. `DatabaseSync`, better-sqlite3's and libsql's `Database` all are one. */
export interface SqliteConnection {
  exec(sql: string): unknown;
  prepare(sql: string): {
    all(...values: string[]): unknown[];
    run(...values: (string | null)[]): unknown;
  };
  /** node:sqlite */
  readonly isTransaction?: boolean | undefined;
  /** better-sqlite3, libsql */
  readonly inTransaction?: boolean | undefined;
}

/** A guard for rows in SQLite. */
export interface SqliteFence<By extends Fenced | Signed = Fenced> {
  /** First in a transaction that you have begun (BEGIN IMMEDIATE): refuses an older token; else remembers this one, and keeps others out until commit. */
  admit(transaction: SqliteConnection, resource: string, by: By): void;
  /** For a new leader, before it reads; outside any transaction. The same as a transaction with nothing but `admit`. */
  raise(connection: SqliteConnection, resource: string, by: By): void;
  /** After a deliberate move to another store, or as a repair; inside a transaction or outside. Tokens of the old domain stay refused. */
  adopt(connection: SqliteConnection, resource: string, move: Move | Lowering): Adopted;
  /** What to run once in the guarded database. Harmless when repeated. */
  schema(): string;
}

const TABLE = "conclave_fence";

/** Options of `sqliteFence`. */
export interface SqliteFenceOptions {
  /** @default "conclave_fence" */
  readonly table?: string | undefined;
}

/** The same as the other form, for signed tokens. */
export function sqliteFence(options: SqliteFenceOptions & Verifying): SqliteFence<Signed>;
/** A guard for rows in SQLite, inside your own transaction. */
export function sqliteFence(options?: SqliteFenceOptions): SqliteFence;
export function sqliteFence(options: SqliteFenceOptions & Partial<Verifying> = {}): SqliteFence<Fenced | Signed> {
  const verifier = verifierOf("sqliteFence", options, ["table"]);
  const table: unknown = options?.table ?? TABLE;
  if (typeof table !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(table))
    throw new ConclaveError("CONFIG_INVALID", `sqliteFence: ${show(table)} is no plain name for a table.`);
  return new TableFence(table, verifier);
}

class TableFence implements SqliteFence<Fenced | Signed> {
  readonly #table: string;
  readonly #verifier: Verifier | undefined;

  constructor(table: string, verifier: Verifier | undefined) {
    this.#table = table;
    this.#verifier = verifier;
  }

  schema(): string {
    return `CREATE TABLE IF NOT EXISTS ${this.#table} (
  resource TEXT NOT NULL,
  domain TEXT NOT NULL,
  value TEXT,
  bid TEXT,
  present INTEGER NOT NULL CHECK (present IN (0, 1)),
  PRIMARY KEY (resource, domain)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS ${this.#table}_present ON ${this.#table} (resource) WHERE present = 1;
`;
  }

  admit(transaction: SqliteConnection, resource: string, by: Fenced | Signed): void {
    const token = tokenOf(by, this.#verifier, resource);
    textOf(token);
    if (!isInTransaction(transaction)) throw outside("admit");
    this.#change(transaction, resourceOf(resource), (remembered) =>
      admit(resource, remembered, token, (...move) => this.#howToAdopt(transaction)(...move)),
    );
  }

  raise(connection: SqliteConnection, resource: string, by: Fenced | Signed): void {
    if (isInTransaction(connection)) throw inside("raise");
    inOwnTransaction(connection, () => this.admit(connection, resource, by));
  }

  adopt(connection: SqliteConnection, resource: string, move: Move | Lowering): Adopted {
    const change = (): Adopted => {
      const step = this.#change(connection, resourceOf(resource), (remembered) =>
        moveDomain(resource, remembered, move),
      );
      return adopted(step.after, move, step.changed);
    };
    return isInTransaction(connection) ? change() : inOwnTransaction(connection, change);
  }

  /** The command names the file that this connection has open. */
  #howToAdopt(connection: SqliteConnection): HowToAdopt {
    const rows = connection.prepare("PRAGMA database_list").all() as {
      readonly name: unknown;
      readonly file: unknown;
    }[];
    const file = rows.find(({ name }) => name === "main")?.file;
    if (typeof file !== "string" || file === "") return adoptByCall;
    return adoptByCommand([
      "--guard",
      urlOfFile("sqlite", file),
      ...(this.#table === TABLE ? [] : ["--table", this.#table]),
    ]);
  }

  /** Becomes the one writer, reads, and writes back what is new. */
  #change(
    transaction: SqliteConnection,
    resource: string,
    next: (remembered: Remembered | undefined) => Remembered,
  ): { readonly after: Remembered; readonly changed: boolean } {
    this.#becomeWriter(transaction);
    const before = this.#read(transaction, resource);
    const after = next(before);
    if (after === before) return { after, changed: false };
    if (before !== undefined && before.domain !== after.domain) this.#leave(transaction, resource, before.domain);
    const { value, bid } = after.mark ?? {};
    transaction
      .prepare(
        `INSERT INTO ${this.#table} (resource, domain, value, bid, present) VALUES (?, ?, ?, ?, 1)
         ON CONFLICT (resource, domain) DO UPDATE SET value = excluded.value, bid = excluded.bid, present = 1`,
      )
      .run(resource, after.domain, value === undefined ? null : `${value}`, bid ?? null);
    return { after, changed: true };
  }

  /** A write takes the writer's lock even if it meets no row. By `exec`: in libsql a prepared statement that meets a lock stays open, and then nothing commits. */
  #becomeWriter(transaction: SqliteConnection): void {
    try {
      transaction.exec(`UPDATE ${this.#table} SET present = present WHERE 0`);
    } catch (cause) {
      if (!/no such table/.test(String(cause))) throw cause;
      const message = `sqliteFence: there is no table ${this.#table} in this database. Run once: db.exec(fence.schema()).`;
      throw new ConclaveError("CONFIG_INVALID", message, { cause });
    }
  }

  #leave(transaction: SqliteConnection, resource: string, domain: string): void {
    transaction
      .prepare(`UPDATE ${this.#table} SET present = 0 WHERE resource = ? AND domain = ?`)
      .run(resource, domain);
  }

  #read(transaction: SqliteConnection, resource: string): Remembered | undefined {
    const sql = `SELECT domain, value, bid, present FROM ${this.#table} WHERE resource = ?`;
    const rows = transaction.prepare(sql).all(resource) as FenceRow[];
    return rememberedOf(`sqliteFence, table ${this.#table}`, resource, rows);
  }
}

function isInTransaction(connection: SqliteConnection): boolean {
  const { exec, prepare } = Object(connection) as Partial<SqliteConnection>;
  if (typeof exec !== "function" || typeof prepare !== "function")
    throw new ConclaveError(
      "CONFIG_INVALID",
      `sqliteFence: the first argument is not a connection: pass a DatabaseSync of node:sqlite, or a Database of better-sqlite3 or libsql.`,
    );
  const known = connection.isTransaction ?? connection.inTransaction;
  if (typeof known === "boolean") return known;
  return cannotBegin(connection);
}

/** Early versions of node:sqlite do not say; a transaction cannot be begun inside another, and trying does it no harm. */
function cannotBegin(connection: SqliteConnection): boolean {
  try {
    connection.exec("BEGIN");
  } catch (error) {
    if (/within a transaction/.test(String(error))) return true;
    throw error;
  }
  connection.exec("ROLLBACK");
  return false;
}

function inOwnTransaction<R>(connection: SqliteConnection, work: () => R): R {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    if (isInTransaction(connection)) connection.exec("ROLLBACK");
    throw error;
  }
}

function outside(method: string): ConclaveError {
  const message = `sqliteFence.${method}: there is no transaction. The check holds only until the next statement then. BEGIN IMMEDIATE, ${method}, write, COMMIT.`;
  return new ConclaveError("CONFIG_INVALID", message);
}

function inside(method: string): ConclaveError {
  const message = `sqliteFence.${method}: a transaction is open on this connection. Inside it, call admit; ${method} commits one of its own.`;
  return new ConclaveError("CONFIG_INVALID", message);
}
