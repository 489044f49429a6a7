// `postgres://` is a store in a PostgreSQL that you have anyway (14 or newer). A race in session layout: a session row that is renewed alone, seats that
// point to it, a counter per name. Rivals take over after a ttl without a renewal, on their own clocks; no wall clock decides, unless you ask for it.
//
// It keeps no session state at the server: each call is one transaction, so that a recycled connection, a killed backend or a pooler in transaction mode
// takes nothing away. NOTIFY wakes waiters where there is a session to hear it on; elsewhere they look twice a second.
// Not promised: a failover that forgets commits (asynchronous replication), and a backup that is restored. docs/stores/postgres.md has it in sentences.
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys, problemsOfSettings } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { looksUnset } from "../base/url.ts";
import type { FencedStore, Reopenable } from "./contract.ts";
import { databaseOf, placeOf, UrlDatabase } from "../clients/postgres/client.ts";
import type { PgClient, Pooling } from "../clients/postgres/pg.ts";
import type { PostgresClient } from "../clients/postgres/postgres-js.ts";
import { type Expiry, guaranteeOf } from "./postgres/guarantee.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { DEFAULT_SCHEMA, isPlainName, schemaSql } from "./postgres/schema.ts";
import { placeOfUrl, problemOfUrl } from "../clients/postgres/url.ts";

export type { PgClient } from "../clients/postgres/pg.ts";
export type { PostgresClient } from "../clients/postgres/postgres-js.ts";

/** Options of `postgres`. */
export interface PostgresOptions {
  /** Where the tables are. @default "conclave" */
  readonly schema?: string | undefined;
  /**
   * "database-clock": the database's wall clock says when a ttl is over, so that a new candidate need not wait for a ttl first. But a clock that is set forward, or a failover
   * to a server whose clock is ahead, lets two lead for up to a ttl. The same for all candidates of an election. @default "silence"
   */
  readonly expiry?: Expiry | undefined;
  /**
   * Makes the tables where the schema is empty or not there, when the first session is opened; says so by a warning of the process that names the database.
   * Needs the right to create in it. false: they are made by `conclave schema postgres` alone. @default true
   */
  readonly createTables?: boolean | undefined;
  /**
   * How a URL is connected to with pg. "own": by connections of our own, which use a little of pg that it does not document. "pool": by pg's Pool, which is slower
   * and promises the same. Where pg lacks what "own" needs, its Pool is used anyway, and a warning of the process says so. @default "own"
   */
  readonly connections?: "own" | "pool" | undefined;
}

/**
 * A store in the database at `url`, or behind a client that you have made: a `Pool` (or a connected `Client` that nobody else uses) of pg, or the sql function
 * of postgres; `close()` leaves it open. Nothing is opened before the first call. Where there are no tables they are made.
 */
export function postgres(url: string, options?: PostgresOptions): FencedStore & Reopenable;
export function postgres(client: PgClient | PostgresClient, options?: PostgresOptions): FencedStore;
export function postgres(source: string | PgClient | PostgresClient, given?: PostgresOptions): FencedStore {
  const problems = problemsOfKeys(given, Object.keys(OWN_SETTINGS));
  const options = given ?? {};
  if (problems.length > 0) throw invalidConfig("postgres", problems);
  if (typeof source === "string") return fromUrl(source, options);
  if (!isClient(source))
    throw invalidConfig("postgres", [
      `${show(source)} is neither a URL, nor a Pool or Client of pg, nor the sql function of postgres${looksUnset(source) ? ". Is the environment variable set?" : ""}`,
    ]);
  return new PostgresStore(partsOf(options, placeOf(source), databaseOf(source)));
}

/** The SQL that makes the tables, as `conclave schema postgres` prints it. @param options.role who else may stand in elections, beside the owner */
export function postgresSchema(
  options: { readonly schema?: string | undefined; readonly role?: string | undefined } = {},
): string {
  return schemaSql(checked(options ?? {}).schema, options?.role);
}

class UrlStore extends PostgresStore implements Reopenable {
  readonly #url: string;

  constructor(url: string, parts: ConstructorParameters<typeof PostgresStore>[0]) {
    super(parts);
    this.#url = url;
  }

  /** It may carry a password: not a field, so that it is not printed with the object. */
  get url(): string {
    return this.#url;
  }
}

const OWN_SETTINGS = {
  schema: "conclave_schema",
  expiry: "conclave_expiry",
  createTables: "conclave_create_tables",
  connections: "conclave_connections",
} as const;

function fromUrl(url: string, options: PostgresOptions): FencedStore & Reopenable {
  const problem = problemOfUrl(url);
  if (problem !== undefined) throw invalidConfig("postgres", [problem]);
  const [base = "", query = ""] = (url.split("#")[0] ?? "").split("?", 2);
  const settings = new URLSearchParams(query);
  const unread = problemsOfSettings(settings.keys(), Object.values(OWN_SETTINGS));
  if (unread.length > 0) throw invalidConfig("postgres", unread);
  const own = {
    schema: options.schema ?? settings.get(OWN_SETTINGS.schema) ?? undefined,
    expiry: options.expiry ?? ((settings.get(OWN_SETTINGS.expiry) ?? undefined) as Expiry | undefined),
    createTables: options.createTables ?? booleanOf(settings.get(OWN_SETTINGS.createTables)),
    connections: options.connections ?? ((settings.get(OWN_SETTINGS.connections) ?? undefined) as Pooling | undefined),
  };
  for (const name of Object.values(OWN_SETTINGS)) settings.delete(name);
  const rest = settings.size === 0 ? "" : `?${settings.toString()}`;
  const parts = partsOf(own, placeOfUrl(url) ?? "", new UrlDatabase(`${base}${rest}`, own.connections ?? "own"));
  return new UrlStore(reopeningUrl(base, settings, own), parts);
}

/** What is neither is left as it is, and refused below. */
function booleanOf(text: string | null): boolean | undefined {
  return text === null ? undefined : text === "true" ? true : text === "false" ? false : (text as unknown as boolean);
}

/** With the options in it, so that opening it again gives the same store. */
function reopeningUrl(base: string, settings: URLSearchParams, own: PostgresOptions): string {
  const all = new URLSearchParams(settings);
  if (own.schema !== undefined) all.set(OWN_SETTINGS.schema, own.schema);
  if (own.expiry !== undefined) all.set(OWN_SETTINGS.expiry, own.expiry);
  if (own.createTables !== undefined) all.set(OWN_SETTINGS.createTables, `${own.createTables}`);
  if (own.connections !== undefined) all.set(OWN_SETTINGS.connections, own.connections);
  return all.size === 0 ? base : `${base}?${all.toString()}`;
}

function partsOf(
  options: PostgresOptions,
  place: string,
  database: ConstructorParameters<typeof PostgresStore>[0]["database"],
): ConstructorParameters<typeof PostgresStore>[0] {
  const { schema, expiry, createTables } = checked(options);
  return { database, where: { place, schema }, guarantee: guaranteeOf(expiry), createTables };
}

function checked({
  schema = DEFAULT_SCHEMA,
  expiry = "silence",
  createTables = true,
  connections = "own",
}: PostgresOptions): Required<{ schema: string; expiry: Expiry; createTables: boolean }> {
  const problems = [
    ...(typeof schema === "string" && isPlainName(schema)
      ? []
      : [`schema ${show(schema)} is not a plain name: lower case letters, digits and _, up to 51`]),
    ...(expiry === "silence" || expiry === "database-clock"
      ? []
      : [`expiry ${show(expiry)} is not known: "silence" or "database-clock"`]),
    ...(typeof createTables === "boolean" ? [] : [`createTables ${show(createTables)} is not known: true or false`]),
    ...(connections === "own" || connections === "pool"
      ? []
      : [`connections ${show(connections)} is not known: "own" or "pool"`]),
  ];
  if (problems.length > 0) throw invalidConfig("postgres", problems);
  return { schema, expiry, createTables };
}

function isClient(source: unknown): source is PgClient | PostgresClient {
  const { query, unsafe } = (source ?? {}) as Partial<PgClient & PostgresClient>;
  return typeof query === "function" || typeof unsafe === "function";
}
