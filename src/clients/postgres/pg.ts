// `pg`: a Pool or a Client that the user has made. For a URL it opens connections of our own (connections.ts), or pg's Pool where that is asked for, or where this version of pg lacks a part that our
// connections use.
import { Connections, type OwnClient } from "./connections.ts";
import { callText } from "./call-text.ts";
import {
  CONNECT_WITHIN_MS,
  CONNECTIONS,
  type Database,
  type NotificationEars,
  END_WITHIN_MS,
  forget,
  loadClient,
  onlyValue,
  type OwnDatabase,
} from "./database.ts";
import { missingPart } from "./pg-parts.ts";
import { Refusal } from "../../base/refusal.ts";
import { processWide } from "../../base/process-wide.ts";
import type { Row } from "../row.ts";

/** The part of a `Pool` or a `Client` of pg that is used. A Client must be connected, and nobody else may use it. */
export interface PgClient {
  query(query: { readonly text: string }): Promise<unknown>;
}

/** The fields that a Pool has beside `query`: its settings, and the class of its clients. */
interface PoolParts {
  readonly options: object;
  readonly Client: new (options: object) => ListeningClient;
}

/** The methods that a Client has. */
interface ListeningClient extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: string, listener: (message: { readonly payload?: string }) => void): unknown;
  removeListener(event: string, listener: (message: { readonly payload?: string }) => void): unknown;
}

export class PgDatabase implements Database {
  readonly #client: PgClient;
  readonly #isPool: boolean;
  /** The queue of a single client, which takes one query at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(client: PgClient, isKnownPool: boolean = isPool(client)) {
    this.#client = client;
    this.#isPool = isKnownPool;
  }

  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown> {
    return this.run(callText(name, args), patienceMs);
  }

  /** `query_timeout` is pg's own setting: the Pool then throws the connection away, so that a dead one does not keep its place. */
  async run(text: string, patienceMs: number): Promise<unknown> {
    const query = { text, query_timeout: patienceMs };
    const running = this.#isPool ? this.#client.query(query) : this.#turn.then(() => this.#client.query(query));
    // The caller of this query gets its error below; the next caller only waits for its turn.
    this.#turn = this.#isPool ? this.#turn : running.catch(() => {});
    const { rows } = (await running) as { readonly rows: readonly Row[] };
    return onlyValue(rows);
  }

  async listen(channel: string, ears: NotificationEars): Promise<() => void> {
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

function canListen(client: PgClient): client is ListeningClient {
  return typeof (client as Partial<ListeningClient>).on === "function";
}

const LISTEN_WITHIN_MS = 10_000;

/** Closes a connection that nobody needs any more. If a request is under way on it, pg cuts it off. */
function leave(client: ListeningClient): void {
  forget(client.end());
}

/** Listens on a connection beside the pool, with the pool's own settings: a listener would keep one of the pool's connections for good. */
async function listenWith(client: ListeningClient, channel: string, ears: NotificationEars): Promise<() => void> {
  client.on("error", ears.broken);
  try {
    await client.connect();
    const say = async (text: string): Promise<void> => void (await client.query({ text }));
    return await listenOn(client, say, channel, ears, () => leave(client));
  } catch (error) {
    leave(client);
    throw error;
  }
}

async function listenOn(
  client: ListeningClient,
  say: (text: string) => Promise<void>,
  channel: string,
  ears: NotificationEars,
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

// ---- a URL

/** "own": our own connections (connections.ts). "pool": pg's Pool, and nothing of pg beyond its documented methods. */
export type Pooling = "own" | "pool";

type ClientClass = new (options: object) => ListeningClient & OwnClient;

interface Pool extends PgClient {
  end(): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
}

interface Module {
  readonly Client: ClientClass;
  readonly Pool: new (options: object) => Pool;
}

/** undefined: pg is not installed. */
export function openWithPg(url: string, pooling: Pooling): OwnDatabase | undefined {
  const options = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
    fallback_application_name: "conclave",
  };
  const Client = pooling === "own" ? loadUsableClient() : undefined;
  if (Client !== undefined) return openOwn(Client, options);
  const module = loadClient("pg") as Module | undefined;
  return module && openPool(module, options);
}

/** Loads the JavaScript client, also where NODE_PG_FORCE_NATIVE puts libpq in its place: libpq takes no requests of our kind, and would never answer. */
function loadPgClient(): ClientClass | undefined {
  if (process.env["NODE_PG_FORCE_NATIVE"]) return loadClient("pg/lib/client.js") as ClientClass | undefined;
  return (loadClient("pg") as Module | undefined)?.Client;
}

/** undefined: pg is not installed, or lacks a part that our connections use. In the second case a warning says so. */
function loadUsableClient(): ClientClass | undefined {
  const Client = loadPgClient();
  const missing = Client && missingPart(Client);
  if (missing === undefined) return Client;
  const said = processWide("pgParts.1", () => ({ isSaid: false }));
  if (!said.isSaid) {
    said.isSaid = true;
    process.emitWarning(
      `postgres: this version of pg has no ${missing}, which conclave's own connections use. pg's Pool is used instead: it is slower, and promises the same. Update conclave, or pass connections: "pool" so that this is not said.`,
      { type: "ConclaveWarning", code: "CONCLAVE_PG_CHANGED" },
    );
  }
  return undefined;
}

function openOwn(Client: ClientClass, options: object): OwnDatabase {
  const connections = new Connections(() => new Client(options));
  return {
    call: (name, args, patienceMs) => connections.ask({ call: name, args }, patienceMs),
    run: (text, patienceMs) => connections.ask({ text }, patienceMs),
    listen: (channel, ears) => listenWith(connections.client(), channel, ears),
    doubt: () => connections.doubt(),
    close: async () => {},
    end: () => connections.end(),
  };
}

function openPool({ Client, Pool }: Module, options: object): OwnDatabase {
  const pool = new Pool({ ...options, max: CONNECTIONS, allowExitOnIdle: true });
  pool.on("error", () => {}); // the error of an idle connection, which the Pool then replaces
  const database = new PgDatabase(pool, true);
  const listening = new Set<ListeningClient>();
  return {
    call: (name, args, patienceMs) => database.call(name, args, patienceMs),
    run: (text, patienceMs) => database.run(text, patienceMs),
    listen: (channel, ears) => {
      const client = new Client(options);
      listening.add(client);
      client.on("end", () => void listening.delete(client));
      return listenWith(client, channel, ears);
    },
    doubt: () => {},
    close: async () => {},
    end: async () => {
      for (const client of listening) leave(client);
      await soon(pool.end());
    },
  };
}

async function soon(ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, END_WITHIN_MS)));
  await Promise.race([ending, late]).finally(() => clearTimeout(timer));
}
