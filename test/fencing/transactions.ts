// The same transaction as each client makes it. Prisma itself generates its client; what is used of it is the one method that its transactions have, and how its
// errors wrap the server's: both are as test/projects/prisma finds them in the real one.
// Drizzle is loaded by require: its own types name databases that are not installed here.
import { createRequire } from "node:module";
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import type { PostgresTransaction } from "conclave/fencing/postgres";

interface DrizzleTransaction {
  execute(text: string): Promise<unknown>;
}

interface Drizzle extends DrizzleTransaction {
  transaction<R>(work: (tx: DrizzleTransaction) => Promise<R>, options: { isolationLevel: string }): Promise<R>;
}

const require = createRequire(import.meta.url);
type MakeDrizzle = { readonly drizzle: (client: unknown) => Drizzle };
const { drizzle: drizzlePg } = require("drizzle-orm/node-postgres") as MakeDrizzle;
const { drizzle: drizzlePostgres } = require("drizzle-orm/postgres-js") as MakeDrizzle;

export type Rows = readonly Record<string, unknown>[];
export type Work<R> = (tx: PostgresTransaction, run: (sql: string) => Promise<Rows>) => Promise<R>;

export interface Client {
  transact<R>(work: Work<R>, isolation?: "repeatable read"): Promise<R>;
  /** The client itself, where a transaction belongs. */
  readonly itself: PostgresTransaction;
  end(): Promise<void>;
}

export const CLIENTS: readonly (readonly [name: string, open: (url: string) => Client])[] = [
  ["pg", withPg],
  ["postgres", withPostgres],
  ["Kysely", withKysely],
  ["Drizzle over pg", withDrizzle],
  ["Drizzle over postgres", withDrizzleOverPostgres],
  ["a transaction like that of Prisma 6", (url) => withPrismaLike(url, (code) => ({ code }))],
  [
    "a transaction like that of Prisma 7",
    (url) => withPrismaLike(url, (code) => ({ driverAdapterError: { cause: { originalCode: code } } })),
  ],
];

/** BEGIN, the work, and COMMIT or ROLLBACK. */
export async function within<R>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<R>,
  isolation = "read committed",
): Promise<R> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

function withPg(url: string): Client {
  const pool = new pg.Pool({ connectionString: url });
  return {
    itself: pool,
    transact: (work, isolation) =>
      within(pool, (client) => work(client, async (sql) => (await client.query(sql)).rows), isolation),
    end: () => pool.end(),
  };
}

function withPostgres(url: string): Client {
  const sql = postgres(url, { onnotice: () => {} });
  return {
    itself: sql,
    transact: async <R>(work: Work<R>, isolation = "read committed") =>
      (await sql.begin(`isolation level ${isolation}`, (tx) =>
        work(tx, async (text) => [...(await tx.unsafe(text))] as Rows),
      )) as R,
    end: () => sql.end(),
  };
}

function withKysely(url: string): Client {
  const pool = new pg.Pool({ connectionString: url });
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
  return {
    itself: db,
    transact: (work, isolation) =>
      db
        .transaction()
        .setIsolationLevel(isolation ?? "read committed")
        .execute((tx) => work(tx, async (sql) => (await tx.executeQuery(CompiledQuery.raw(sql))).rows as Rows)),
    end: () => db.destroy(),
  };
}

function withDrizzle(url: string): Client {
  const pool = new pg.Pool({ connectionString: url });
  const db = drizzlePg(pool);
  return {
    itself: db,
    transact: (work, isolation) =>
      db.transaction((tx) => work(tx, async (sql) => ((await tx.execute(sql)) as { readonly rows: Rows }).rows), {
        isolationLevel: isolation ?? "read committed",
      }),
    end: () => pool.end(),
  };
}

function withDrizzleOverPostgres(url: string): Client {
  const sql = postgres(url, { onnotice: () => {} });
  const db = drizzlePostgres(sql);
  return {
    itself: db,
    transact: (work, isolation) =>
      db.transaction((tx) => work(tx, async (text) => [...((await tx.execute(text)) as Rows)]), {
        isolationLevel: isolation ?? "read committed",
      }),
    end: () => sql.end(),
  };
}

function withPrismaLike(url: string, metaOf: (code: string | undefined) => unknown): Client {
  const pool = new pg.Pool({ connectionString: url });
  const face = (
    client: pg.Pool | pg.PoolClient,
  ): { $queryRawUnsafe(text: string, ...values: unknown[]): Promise<Rows> } => ({
    // Prisma prepares every statement, and wraps every error.
    $queryRawUnsafe: async (text, ...values) => {
      try {
        return (await client.query({ text, values, queryMode: "extended" } as pg.QueryConfig)).rows;
      } catch (error) {
        const meta = metaOf((error as { code?: string }).code);
        throw Object.assign(new Error("Raw query failed"), { code: "P2010", meta });
      }
    },
  });
  return {
    itself: face(pool),
    transact: (work, isolation) => {
      return within(pool, (client) => work(face(client), (sql) => face(client).$queryRawUnsafe(sql)), isolation);
    },
    end: () => pool.end(),
  };
}
