// postgresFence: for rows in PostgreSQL. The fence is a row in the same database, checked and locked inside the transaction that writes, whichever client made that
// transaction: pg, postgres, Kysely, Drizzle, Prisma and whatever else has one of their methods.
//
// THE ARGUMENT
//   one step    A check in the statement that writes is not enough: under READ COMMITTED it may read the fence, wait, and write after the fence was raised.
//               `admit` locks the row and then checks it. With the token that is remembered already it takes a share of the lock, so that transactions
//               of one leader run side by side; with a newer one it takes the whole lock, for which every older transaction must have ended. Both are
//               kept until COMMIT or ROLLBACK. So no transaction commits a write under an older token after a newer one was installed.
//   law 12      (raise, then read, then write) `admit` with a newer token returns only when no transaction with an older one is in progress, not even one whose client was killed.
//               So no older write changes what is read after that.
//   snapshot    Under REPEATABLE READ and SERIALIZABLE a transaction reads what was there when it began, which may be before that wait. There a token that
//               is new is refused, and the message says what to do: `raise` it in a transaction of its own; then it is not new any more.
//   no upgrade  The row is read first without a lock, to know which lock to take. So no transaction asks for a stronger lock than it has, and two cannot wait for each other.
//   alone       The lock protects only inside a transaction. The second statement checks that it runs in the same transaction as the first.
// Needs: every writer of the guarded rows calls `admit` first, inside its transaction.
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { sqlLiteral } from "../base/sql-literal.ts";
import type { Row } from "../clients/row.ts";
import { admit, adopted, type Adopted, type Lowering, type Move, moveDomain, type Remembered } from "./guard.ts";
import { resourceOf, textOf, tokenOf } from "./input.ts";
import { adoptByCommand, type HowToAdopt } from "./refusals.ts";
import { type FenceRow, isTrue, rememberedOf } from "./rows.ts";
import { type Verifier, verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";

/** A transaction that you have begun. One of these methods is used of it. */
export type PostgresTransaction =
  /** A client of pg after BEGIN, a QueryRunner of TypeORM. */
  | { query(text: string): PromiseLike<unknown> }
  /** The sql that `sql.begin` of postgres hands out. */
  | { unsafe(text: string): PromiseLike<unknown> }
  /** The transaction of Drizzle. */
  | { execute(text: string): PromiseLike<unknown> }
  /** The transaction of Prisma. */
  | { $queryRawUnsafe(text: string): PromiseLike<unknown> }
  /** The transaction of Kysely. */
  | { executeQuery(query: KyselyQuery): PromiseLike<unknown> };

/** As `CompiledQuery.raw` of Kysely makes it. */
export interface KyselyQuery {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly query: {
    readonly kind: "RawNode";
    readonly sqlFragments: readonly string[];
    readonly parameters: readonly never[];
  };
  readonly queryId: { readonly queryId: string };
}

/** A guard for rows in PostgreSQL. */
export interface PostgresFence<By extends Fenced | Signed = Fenced> {
  /** To be called first in a transaction that you have begun: refuses an older token; else remembers this one, and keeps newer ones out until commit. */
  admit(transaction: PostgresTransaction, resource: string, by: By): Promise<void>;
  /** For a new leader, before it reads, in a transaction with nothing else in it. Needed only where transactions are stricter than READ COMMITTED. */
  raise(transaction: PostgresTransaction, resource: string, by: By): Promise<void>;
  /** After a deliberate move to another store, or as a repair; inside a transaction. Tokens of the old domain stay refused. */
  adopt(transaction: PostgresTransaction, resource: string, move: Move | Lowering): Promise<Adopted>;
  /** The SQL to run once in the guarded database. Running it again does no harm. */
  schema(): string;
}

const TABLE = "conclave_fence";

/** Options of `postgresFence`. */
export interface PostgresFenceOptions {
  /** May name its schema, as in "app.conclave_fence". @default "conclave_fence" */
  readonly table?: string | undefined;
}

/** The same as the other form, for signed tokens. */
export function postgresFence(options: PostgresFenceOptions & Verifying): PostgresFence<Signed>;
/** A guard for rows in PostgreSQL, inside your own transaction. */
export function postgresFence(options?: PostgresFenceOptions): PostgresFence;
export function postgresFence(options: PostgresFenceOptions & Partial<Verifying> = {}): PostgresFence<Fenced | Signed> {
  const verifier = verifierOf("postgresFence", options, ["table"]);
  const table: unknown = options?.table ?? TABLE;
  if (typeof table !== "string" || !/^(?:[a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}$/.test(table))
    throw new ConclaveError(
      "CONFIG_INVALID",
      `postgresFence: ${show(table)} is no plain name for a table: lower case letters, digits and _.`,
    );
  return new TableFence(table, verifier);
}

/** Which transaction this is, and its isolation level. */
interface Setting {
  readonly transaction: string;
  readonly isStrict: boolean;
}

type Next = (remembered: Remembered | undefined) => Remembered;

class TableFence implements PostgresFence<Fenced | Signed> {
  readonly #table: string;
  readonly #howToAdopt: HowToAdopt;
  readonly #verifier: Verifier | undefined;

  constructor(table: string, verifier: Verifier | undefined) {
    this.#table = table;
    this.#verifier = verifier;
    this.#howToAdopt = adoptByCommand(["--guard", '"$DATABASE_URL"', ...(table === TABLE ? [] : ["--table", table])]);
  }

  schema(): string {
    return `CREATE TABLE IF NOT EXISTS ${this.#table} (
  resource text NOT NULL,
  domain text NOT NULL,
  value text CHECK (value ~ '^(0|[1-9][0-9]{0,38})$'),
  bid text,
  present boolean NOT NULL,
  PRIMARY KEY (resource, domain)
);
CREATE UNIQUE INDEX IF NOT EXISTS ${this.#table.split(".").at(-1)}_present ON ${this.#table} (resource) WHERE present;
`;
  }

  async admit(transaction: PostgresTransaction, resource: string, by: Fenced | Signed): Promise<void> {
    await this.#admit(transaction, resource, by, false);
  }

  async raise(transaction: PostgresTransaction, resource: string, by: Fenced | Signed): Promise<void> {
    await this.#admit(transaction, resource, by, true);
  }

  async #admit(
    transaction: PostgresTransaction,
    resource: string,
    by: Fenced | Signed,
    isRaise: boolean,
  ): Promise<void> {
    const token = tokenOf(by, this.#verifier, resource);
    textOf(token);
    const next: Next = (remembered) => admit(resource, remembered, token, this.#howToAdopt);
    const [seen, setting] = await this.#read(transaction, resourceOf(resource));
    const isNew = next(seen) !== seen;
    if (isNew && setting.isStrict && !isRaise) throw notRaised(resource);
    if (isNew) return void (await this.#change(transaction, resource, setting, next));
    const locked = await this.#lock(transaction, resource, setting, "SHARE");
    // The row is missing only if somebody has deleted it by hand meanwhile.
    if (next(locked) !== locked) await this.#change(transaction, resource, setting, next);
  }

  async adopt(transaction: PostgresTransaction, resource: string, move: Move | Lowering): Promise<Adopted> {
    const [, setting] = await this.#read(transaction, resourceOf(resource));
    const step = await this.#change(transaction, resource, setting, (remembered) =>
      moveDomain(resource, remembered, move),
    );
    return adopted(step.after, move, step.changed);
  }

  /** Holds the whole lock: reads, and writes back what is new. */
  async #change(
    transaction: PostgresTransaction,
    resource: string,
    setting: Setting,
    next: Next,
  ): Promise<{ readonly after: Remembered; readonly changed: boolean }> {
    const before = await this.#lock(transaction, resource, setting, "UPDATE");
    const after = next(before);
    if (after === before) return { after, changed: false };
    if (before === undefined) {
      if (await this.#install(transaction, resource, after, setting)) return { after, changed: true };
      // Another transaction was first: now there is a row to lock.
      return await this.#change(transaction, resource, setting, next);
    }
    if (before.domain !== after.domain) await this.#leave(transaction, resource, before.domain);
    await this.#write(transaction, resource, after);
    return { after, changed: true };
  }

  /** Reads without a lock what a snapshot of this moment shows. */
  async #read(transaction: PostgresTransaction, resource: string): Promise<readonly [Remembered | undefined, Setting]> {
    const rows = await this.#run(
      transaction,
      `SELECT pg_current_xact_id()::text AS transaction, current_setting('transaction_isolation') AS isolation,
         fence.domain, fence.value, fence.bid, fence.present
       FROM (SELECT 1) AS here LEFT JOIN ${this.#table} AS fence ON fence.resource = ${quote(resource)}`,
    );
    const setting = {
      transaction: String(rows[0]?.["transaction"]),
      isStrict: rows[0]?.["isolation"] !== "read committed",
    };
    const known = rows.filter(({ domain }) => domain !== null);
    return [this.#remembered(resource, known), setting];
  }

  async #lock(
    transaction: PostgresTransaction,
    resource: string,
    setting: Setting,
    lock: "SHARE" | "UPDATE",
  ): Promise<Remembered | undefined> {
    const sql = `SELECT pg_current_xact_id()::text AS transaction, domain, value, bid, present
      FROM ${this.#table} WHERE resource = ${quote(resource)} ORDER BY domain FOR ${lock}`;
    let rows = await this.#run(transaction, sql);
    // This statement waited for a move to another domain. It shows the row that the move left; only the next statement shows the row that it made.
    if (rows.length > 0 && !rows.some(({ present }) => isTrue(present))) rows = await this.#run(transaction, sql);
    if (rows.some((row) => row["transaction"] !== setting.transaction)) throw outside();
    return this.#remembered(resource, rows);
  }

  #remembered(resource: string, rows: readonly Row[]): Remembered | undefined {
    return rememberedOf(`postgresFence, table ${this.#table}`, resource, rows as readonly (Row & FenceRow)[]);
  }

  /** Installs the first token of a resource. Returns whether it was the first. */
  async #install(
    transaction: PostgresTransaction,
    resource: string,
    { domain, mark }: Remembered,
    setting: Setting,
  ): Promise<boolean> {
    const rows = await this.#run(
      transaction,
      `INSERT INTO ${this.#table} (resource, domain, value, bid, present)
       SELECT ${quote(resource)}, ${quote(domain)}, ${quote(`${mark?.value}`)}, ${quote(mark?.bid ?? "")}, true
       WHERE pg_current_xact_id()::text = ${quote(setting.transaction)} ON CONFLICT DO NOTHING RETURNING domain`,
    );
    if (rows.length > 0) return true;
    const [now] = await this.#run(transaction, "SELECT pg_current_xact_id()::text AS transaction");
    if (now?.["transaction"] !== setting.transaction) throw outside();
    return false;
  }

  async #leave(transaction: PostgresTransaction, resource: string, domain: string): Promise<void> {
    const where = `resource = ${quote(resource)} AND domain = ${quote(domain)}`;
    await this.#run(transaction, `UPDATE ${this.#table} SET present = false WHERE ${where} RETURNING domain`);
  }

  async #write(transaction: PostgresTransaction, resource: string, { domain, mark }: Remembered): Promise<void> {
    const value = mark === undefined ? "NULL" : quote(`${mark.value}`);
    const bid = mark?.bid === undefined ? "NULL" : quote(mark.bid);
    await this.#run(
      transaction,
      `INSERT INTO ${this.#table} (resource, domain, value, bid, present) VALUES (${quote(resource)}, ${quote(domain)}, ${value}, ${bid}, true)
       ON CONFLICT (resource, domain) DO UPDATE SET value = excluded.value, bid = excluded.bid, present = true RETURNING domain`,
    );
  }

  async #run(transaction: PostgresTransaction, text: string): Promise<readonly Row[]> {
    try {
      const result = await send(transaction, text);
      const rows: unknown = Array.isArray(result) ? result : (Object(result) as { readonly rows?: unknown }).rows;
      if (!Array.isArray(rows)) throw noRows();
      return rows as Row[];
    } catch (cause) {
      throw this.#explain(cause) ?? cause;
    }
  }

  /** Errors that concern the fence. All others are the client's own errors, which the user's code may know how to handle: a deadlock, a serialization failure. */
  #explain(cause: unknown): ConclaveError | undefined {
    const table = this.#table;
    switch (sqlStateOf(cause)) {
      case "42P01":
        return new ConclaveError(
          "CONFIG_INVALID",
          `postgresFence: there is no table ${table} in this database. Run once what fence.schema() returns, or: npx conclave schema postgres --fence | psql "$DATABASE_URL"`,
          { cause },
        );
      case "42501":
        return new ConclaveError(
          "STORE_DENIED",
          `postgresFence: this user may not use ${table}. Run once, as its owner: GRANT SELECT, INSERT, UPDATE ON ${table} TO this user`,
          { cause },
        );
      case "55P03":
        return new ConclaveError(
          "FENCE_BUSY",
          `postgresFence: a transaction with an older token has not ended within lock_timeout. Try again, or end it: pg_stat_activity shows it.`,
          { cause },
        );
      case undefined:
      default:
        return undefined;
    }
  }
}

/** Uses the method that the transaction has. Drizzle has a `query` too, which is not a function. */
function send(transaction: PostgresTransaction, text: string): PromiseLike<unknown> {
  const has = <K extends string>(key: K): boolean =>
    typeof (transaction as Readonly<Record<string, unknown>> | undefined)?.[key] === "function";
  const any = transaction as Extract<PostgresTransaction, { query: unknown }> &
    Extract<PostgresTransaction, { unsafe: unknown }> &
    Extract<PostgresTransaction, { execute: unknown }> &
    Extract<PostgresTransaction, { $queryRawUnsafe: unknown }> &
    Extract<PostgresTransaction, { executeQuery: unknown }>;
  if (has("executeQuery")) return any.executeQuery(kyselyQuery(text));
  if (has("$queryRawUnsafe")) return any.$queryRawUnsafe(text);
  if (has("unsafe")) return any.unsafe(text);
  if (has("execute")) return any.execute(text);
  if (has("query")) return any.query(text);
  throw new ConclaveError(
    "CONFIG_INVALID",
    "postgresFence: the first argument is the transaction, as pg, postgres, Kysely, Drizzle or Prisma hand it out.",
  );
}

function kyselyQuery(sql: string): KyselyQuery {
  const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] } as const;
  return { sql, parameters: [], query, queryId: { queryId: "conclave-fence" } };
}

/**
 * The server's code: of the client's own error, or, where it was wrapped, of its cause or of what Prisma says of it. Prisma up to 6 has it in `meta.code`; with a
 * driver adapter, which is the only way since 7, it is in `meta.driverAdapterError.cause.originalCode`.
 */
function sqlStateOf(error: unknown): string | undefined {
  const { code, cause, meta } = (error ?? {}) as { code?: unknown; cause?: unknown; meta?: PrismaMeta };
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("P2")) return code;
  const wrapped = meta?.driverAdapterError?.cause?.originalCode ?? meta?.code;
  if (typeof wrapped === "string") return wrapped;
  return cause === undefined ? undefined : sqlStateOf(cause);
}

interface PrismaMeta {
  readonly code?: unknown;
  readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown } };
}

function quote(text: string): string {
  const literal = sqlLiteral(text);
  if (literal !== undefined) return literal;
  throw new ConclaveError(
    "CONFIG_INVALID",
    "postgresFence: a resource or token with a NUL or half a surrogate pair in it cannot be kept by PostgreSQL.",
  );
}

function noRows(): ConclaveError {
  const message =
    "postgresFence: the client that was passed answers no rows. Pass a client of pg, a transaction of postgres, Kysely, Drizzle or Prisma, or { query: async (text) => ({ rows }) }.";
  return new ConclaveError("CONFIG_INVALID", message);
}

function outside(): ConclaveError {
  const message =
    "postgresFence: there is no transaction. The lock is gone with the statement then. Begin one, admit, write, commit; and pass the transaction, not the pool.";
  return new ConclaveError("CONFIG_INVALID", message);
}

function notRaised(resource: string): ConclaveError {
  const message = `postgresFence: this token is new to "${resource}", and the transaction is stricter than READ COMMITTED: it reads what was there when it began, and older writes may have come since. Call raise first, in a transaction with nothing else in it.`;
  return new ConclaveError("CONFIG_INVALID", message);
}
