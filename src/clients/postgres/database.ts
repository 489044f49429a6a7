// One face for the clients of PostgreSQL: `pg` (a Pool or a Client), `postgres` (its sql function), or a URL, for which the first of the two that is
// installed is loaded. By the methods that are used, so that anything with them will do. What the user made is never closed here.
//
// A call is one message of the simple protocol: one round trip, one transaction. Nothing is prepared on a connection that is not ours, or behind which a pooler
// may put another server each time (connections.ts); there it leaves nothing behind, also when it fails.
import { loadPeer } from "../load-peer.ts";
import { callText } from "./call-text.ts";
import { Connections, CONNECTIONS, type Session } from "./connections.ts";
import { Refusal } from "../../base/refusal.ts";
import { placeOfUrl } from "./url.ts";

/** What is used of a `Pool` or a `Client` of pg. A Client must be connected, and nobody else's. */
export interface PgClient {
  query(query: { readonly text: string }): Promise<unknown>;
}

/** What is used of the sql function of postgres. */
export interface PostgresClient {
  unsafe(query: string): PromiseLike<unknown>;
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>;
}

type Row = Readonly<Record<string, unknown>>;

export interface Ears {
  readonly heard: (payload: string) => void;
  /** From now on; also again, after a connection that broke: something may have been missed. */
  readonly listening: () => void;
  /** The session is gone, and with it what it listened to. */
  readonly broken: () => void;
}

export interface Database {
  /** What the function answers, as text. Arguments as they are written in a statement. `patienceMs`: when the client may give its connection up. */
  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown>;
  /** Any statement, for what it does. */
  run(text: string, patienceMs: number): Promise<unknown>;
  /** Listens on a session of its own. Resolves to how to stop. Rejects where there is no such session. */
  listen(channel: string, ears: Ears): Promise<() => void>;
  /** The caller of a `run` has given up: the connection may be a dead one. */
  doubt(): void;
  /** Closes what was opened here. */
  close(): Promise<void>;
}

export function databaseOf(client: PgClient | PostgresClient): Database {
  return isPostgresClient(client) ? new PostgresDatabase(client) : new PgDatabase(client);
}

/** Where a client leads, for messages; as far as it says so, and without its password. A Client of pg says it itself, the others in their options. */
export function placeOf(client: PgClient | PostgresClient): string {
  const settings = ((client as { options?: unknown }).options ?? client) as Partial<Settings>;
  if (typeof settings.connectionString === "string") return placeOfUrl(settings.connectionString) ?? SOMEWHERE;
  const [host, port, database] = [settings.host, settings.port, settings.database].map((value) =>
    Array.isArray(value) ? (value[0] as unknown) : value,
  );
  if (typeof host !== "string") return SOMEWHERE;
  return `${host}${typeof port === "number" ? `:${port}` : ""}${typeof database === "string" ? `/${database}` : ""}`;
}

type Settings = Readonly<Record<"connectionString" | "host" | "port" | "database", unknown>>;
const SOMEWHERE = "the database";

function isPostgresClient(client: PgClient | PostgresClient): client is PostgresClient {
  return typeof (client as Partial<PostgresClient>).unsafe === "function";
}

function onlyValue([row]: readonly Row[]): unknown {
  return row === undefined ? undefined : Object.values(row)[0];
}

// ---- pg

/** What a Pool has beside `query`: its settings, and the class of its clients. */
interface PoolParts {
  readonly options: object;
  readonly Client: new (options: object) => PgSession;
}

/** What a Client has. */
interface PgSession extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: string, listener: (message: { readonly payload?: string }) => void): unknown;
  removeListener(event: string, listener: (message: { readonly payload?: string }) => void): unknown;
}

class PgDatabase implements Database {
  readonly #client: PgClient;
  readonly #isPool: boolean;
  /** Of a single client, which takes one query at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: PgClient) {
    this.#client = client;
    this.#isPool = isPool(client);
  }

  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown> {
    return this.run(callText(name, args), patienceMs);
  }

  /** `query_timeout` is pg's own: the Pool then throws the connection away, so that a dead one does not keep its place. */
  async run(text: string, patienceMs: number): Promise<unknown> {
    const query = { text, query_timeout: patienceMs };
    const running = this.#isPool ? this.#client.query(query) : this.#turn.then(() => this.#client.query(query));
    // Its own caller is told, below; the next one only waits for its turn.
    this.#turn = this.#isPool ? this.#turn : running.catch(() => {});
    const { rows } = (await running) as { readonly rows: readonly Row[] };
    return onlyValue(rows);
  }

  async listen(channel: string, ears: Ears): Promise<() => void> {
    const client = this.#client;
    if (isPool(client)) return await listenWith(new client.Client(client.options), channel, ears);
    if (!canListen(client)) throw new Refusal("STORE_UNSUPPORTED", "postgres: this client cannot listen");
    const say = async (text: string): Promise<void> => void (await this.run(text, LISTEN_WITHIN_MS));
    return await listenOn(client, say, channel, ears, () => forget(say(`UNLISTEN ${channel}`)));
  }

  doubt(): void {}

  async close(): Promise<void> {}
}

function isPool(client: PgClient): client is PgClient & PoolParts {
  const { Client, options } = client as Partial<PoolParts>;
  return typeof Client === "function" && typeof options === "object";
}

function canListen(client: PgClient): client is PgSession {
  return typeof (client as Partial<PgSession>).on === "function";
}

const LISTEN_WITHIN_MS = 10_000;

/** Closes a connection that nobody needs any more. With something under way on it, pg cuts it off. */
function leave(session: PgSession): void {
  forget(session.end());
}

/** What is said in parting: if it fails, the connection is gone already, and with it what was to be ended. */
function forget(parting: Promise<unknown>): void {
  parting.catch(() => {});
}

/** A session beside the pool, with the pool's own settings: a listener would keep one of its connections for good. */
async function listenWith(session: PgSession, channel: string, ears: Ears): Promise<() => void> {
  session.on("error", ears.broken);
  try {
    await session.connect();
    const say = async (text: string): Promise<void> => void (await session.query({ text }));
    return await listenOn(session, say, channel, ears, () => leave(session));
  } catch (error) {
    leave(session);
    throw error;
  }
}

async function listenOn(
  client: PgSession,
  say: (text: string) => Promise<void>,
  channel: string,
  ears: Ears,
  leave: () => void,
): Promise<() => void> {
  const hear = (message: { readonly channel?: string; readonly payload?: string }): void => {
    if (message.channel === channel) ears.heard(message.payload ?? "");
  };
  client.on("notification", hear);
  client.on("end", ears.broken);
  await say(`LISTEN ${channel}`);
  ears.listening();
  return () => {
    client.removeListener("notification", hear);
    client.removeListener("end", ears.broken);
    leave();
  };
}

// ---- postgres

class PostgresDatabase implements Database {
  readonly #sql: PostgresClient;

  constructor(sql: PostgresClient) {
    this.#sql = sql;
  }

  call(name: string, args: readonly string[]): Promise<unknown> {
    return this.run(callText(name, args));
  }

  async run(text: string): Promise<unknown> {
    return onlyValue((await this.#sql.unsafe(text)) as Row[]);
  }

  /** It connects again by itself, and calls `listening` each time. */
  async listen(channel: string, ears: Ears): Promise<() => void> {
    const listening = await this.#sql.listen(
      channel,
      (payload) => ears.heard(payload),
      () => ears.listening(),
    );
    return () => forget(listening.unlisten());
  }

  doubt(): void {}

  async close(): Promise<void> {}
}

// ---- a URL

const CONNECT_WITHIN_MS = 5_000;

type Own = Database & { end(): Promise<void> };

/** Connects at the first use, and again after `close`. */
export class UrlDatabase implements Database {
  readonly #url: string;
  #open: Own | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown> {
    return this.#database().call(name, args, patienceMs);
  }

  run(text: string, patienceMs: number): Promise<unknown> {
    return this.#database().run(text, patienceMs);
  }

  listen(channel: string, ears: Ears): Promise<() => void> {
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

  #database(): Own {
    this.#open ??= openWithPg(this.#url) ?? openWithPostgres(this.#url) ?? nothingInstalled();
    return this.#open;
  }
}

export function nothingInstalled(): never {
  throw new Refusal(
    "STORE_UNSUPPORTED",
    "postgres: no client for PostgreSQL is installed. Run: npm install pg (or: npm install postgres)",
  );
}

/** undefined: not installed. */
export function loadClient(name: "pg" | "pg/lib/client.js" | "postgres"): unknown {
  try {
    return loadPeer(name);
  } catch (cause) {
    throw new Refusal("STORE_UNSUPPORTED", `postgres: ${(cause as Error).message}. Reinstall it: npm install ${name}`, {
      cause,
    });
  }
}

type PgClientClass = new (options: object) => PgSession & Session;

/** In JavaScript, also where NODE_PG_FORCE_NATIVE puts libpq in its place: that takes no questions of our kind, and would never answer. */
function loadPgClient(): PgClientClass | undefined {
  if (process.env["NODE_PG_FORCE_NATIVE"]) return loadClient("pg/lib/client.js") as PgClientClass | undefined;
  return (loadClient("pg") as { readonly Client: PgClientClass } | undefined)?.Client;
}

function openWithPg(url: string): Own | undefined {
  const Client = loadPgClient();
  if (Client === undefined) return undefined;
  const options = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
    fallback_application_name: "conclave",
  };
  const connections = new Connections(() => new Client(options));
  return {
    call: (name, args, patienceMs) => connections.ask({ call: name, args }, patienceMs),
    run: (text, patienceMs) => connections.ask({ text }, patienceMs),
    listen: (channel, ears) => listenWith(connections.session(), channel, ears),
    doubt: () => {},
    close: async () => {},
    end: () => connections.end(),
  };
}

interface OwnSql extends PostgresClient {
  end(options: { readonly timeout: number }): Promise<void>;
}

/** postgres gives no statement a timeout, and keeps a connection that never answers: after a doubt the whole is opened anew. */
function openWithPostgres(url: string): Own | undefined {
  const module = loadClient("postgres") as ((url: string, options: object) => OwnSql) | undefined;
  if (module === undefined) return undefined;
  const options = {
    max: CONNECTIONS,
    connect_timeout: CONNECT_WITHIN_MS / 1000,
    idle_timeout: 30,
    fetch_types: false, // nobody would hear of it if that failed
    onnotice: () => {},
  };
  let sql = module(url, options);
  return {
    call: (name, args) => new PostgresDatabase(sql).call(name, args),
    run: (text) => new PostgresDatabase(sql).run(text),
    listen: (channel, ears) => new PostgresDatabase(sql).listen(channel, ears),
    doubt: () => {
      const old = sql;
      sql = module(url, options);
      forget(old.end({ timeout: 0 }));
    },
    close: async () => {},
    end: () => sql.end({ timeout: 0 }),
  };
}
