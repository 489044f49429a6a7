// One transaction of several statements, on a connection of its own, with the client that is installed: for commands that an operator runs once. Errors on the way are translated as the store translates
// them; an error that `work` itself throws goes through as it is.
import { ConclaveError, invalidConfig, isConclaveError } from "../../base/errors.ts";
import { askedOnce } from "../../base/outcome.ts";
import { loadClient, nothingInstalled } from "./database.ts";
import { outcomeOf } from "./errors.ts";
import { placeOfUrl, problemOfUrl } from "./url.ts";

/** A transaction by its one method, which has another name in pg's client than in the sql of postgres. */
type Transaction = { query(text: string): Promise<unknown> } | { unsafe(text: string): Promise<unknown> };

type Work<R> = (transaction: Transaction) => Promise<R>;

const CONNECT_WITHIN_MS = 5_000;

export async function transact<R>(url: string, work: Work<R>): Promise<R> {
  const problem = problemOfUrl(url);
  if (problem !== undefined) throw invalidConfig("postgres", [problem]);
  try {
    return await (withPg(url, work) ?? withPostgres(url, work) ?? nothingInstalled());
  } catch (cause) {
    if (isConclaveError(cause)) throw cause;
    const place = placeOfUrl(url) ?? "the database";
    const outcome = outcomeOf(cause, place);
    if (outcome.kind === "refused") throw new ConclaveError(outcome.code, askedOnce(outcome.message), { cause });
    throw new ConclaveError("STORE_TIMEOUT", `postgres: ${place}: ${reasonOf(cause)}. It may have been done.`, {
      cause,
    });
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

interface PgClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
}

function withPg<R>(url: string, work: Work<R>): Promise<R> | undefined {
  const module = loadClient("pg") as { readonly Client: new (options: object) => PgClient } | undefined;
  if (module === undefined) return undefined;
  const options = { connectionString: url, connectionTimeoutMillis: CONNECT_WITHIN_MS };
  return withClient(new module.Client(options), work);
}

async function withClient<R>(client: PgClient, work: Work<R>): Promise<R> {
  client.on("error", () => {}); // the statement that fails tells of it
  try {
    await client.connect();
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } finally {
    await client.end(); // statements that are not committed are undone with it
  }
}

interface Sql {
  begin<R>(work: Work<R>): Promise<R>;
  end(options: { readonly timeout: number }): Promise<void>;
}

function withPostgres<R>(url: string, work: Work<R>): Promise<R> | undefined {
  const module = loadClient("postgres") as ((url: string, options: object) => Sql) | undefined;
  if (module === undefined) return undefined;
  const sql = module(url, {
    max: 1,
    connect_timeout: CONNECT_WITHIN_MS / 1000,
    fetch_types: false,
    onnotice: () => {},
  });
  return withSql(sql, work);
}

async function withSql<R>(sql: Sql, work: Work<R>): Promise<R> {
  try {
    return await sql.begin(work);
  } finally {
    await sql.end({ timeout: 0 });
  }
}
