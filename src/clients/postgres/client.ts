// Makes a database of the user's own client: a `Pool` or a `Client` of pg, or the sql function of postgres. For a URL, the first of the two packages that is installed is loaded. A client that the user
// made is never closed here.
import { type Database, type NotificationEars, nothingInstalled, type OwnDatabase } from "./database.ts";
import { openWithPg, type PgClient, PgDatabase, type Pooling } from "./pg.ts";
import { openWithPostgres, type PostgresClient, PostgresDatabase } from "./postgres-js.ts";
import { placeOfUrl } from "./url.ts";

export function databaseOf(client: PgClient | PostgresClient): Database {
  return isPostgresClient(client) ? new PostgresDatabase(client) : new PgDatabase(client);
}

/** The place that a client leads to, for messages, as far as the client says so, and without its password. A Client of pg says it itself, the others in their options. */
export function placeOf(client: PgClient | PostgresClient): string {
  const settings = ((client as { options?: unknown }).options ?? client) as Partial<ClientSettings>;
  if (typeof settings.connectionString === "string") return placeOfUrl(settings.connectionString) ?? SOMEWHERE;
  const [host, port, database] = [settings.host, settings.port, settings.database].map((value) =>
    Array.isArray(value) ? (value[0] as unknown) : value,
  );
  if (typeof host !== "string") return SOMEWHERE;
  return `${host}${typeof port === "number" ? `:${port}` : ""}${typeof database === "string" ? `/${database}` : ""}`;
}

type ClientSettings = Readonly<Record<"connectionString" | "host" | "port" | "database", unknown>>;
const SOMEWHERE = "the database";

function isPostgresClient(client: PgClient | PostgresClient): client is PostgresClient {
  return typeof (client as Partial<PostgresClient>).unsafe === "function";
}

// ---- a URL

/** Connects at the first use, and again after `close`. */
export class UrlDatabase implements Database {
  readonly #url: string;
  readonly #pooling: Pooling;
  #open: OwnDatabase | undefined;

  constructor(url: string, pooling: Pooling) {
    this.#url = url;
    this.#pooling = pooling;
  }

  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown> {
    return this.#database().call(name, args, patienceMs);
  }

  run(text: string, patienceMs: number): Promise<unknown> {
    return this.#database().run(text, patienceMs);
  }

  listen(channel: string, ears: NotificationEars): Promise<() => void> {
    return this.#database().listen(channel, ears);
  }

  doubt(): void {
    this.#open?.doubt();
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.end();
  }

  #database(): OwnDatabase {
    this.#open ??= openWithPg(this.#url, this.#pooling) ?? openWithPostgres(this.#url) ?? nothingInstalled();
    return this.#open;
  }
}
