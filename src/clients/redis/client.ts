// Makes a port of the user's client of ioredis or of node-redis, or of one server of a URL: over a connection of our own, or with one of the two packages if the user wants that.
import { type IoredisClient, ioredisOpener, IoredisPort } from "./ioredis.ts";
import { type NodeRedisClient, nodeRedisOpener, NodeRedisPort } from "./node-redis.ts";
import { openOwn } from "./own.ts";
import {
  type ChannelEars,
  type Listening,
  NotSent,
  type OwnPort,
  type RedisOpener,
  type RedisPort,
  type Script,
} from "./port.ts";
import type { Server } from "./url.ts";

/** A client of ioredis or of redis that a team already has. Its type has only the methods that are used. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** What opens a URL: a connection of our own, or a package of npm. */
export type UrlClient = "own" | "ioredis" | "redis";

const CONNECT_WITHIN_MS = 5000;

export function isClient(source: unknown): source is RedisClient {
  const { evalsha, evalSha } = (source ?? {}) as Partial<IoredisClient & NodeRedisClient>;
  return typeof evalsha === "function" || typeof evalSha === "function";
}

/** A client of a Redis Cluster has one of these marks. */
export function isCluster(source: unknown): boolean {
  const { isCluster: marked, slots } = (source ?? {}) as { readonly isCluster?: unknown; readonly slots?: unknown };
  return marked === true || slots !== undefined;
}

export function portOf(client: RedisClient): RedisPort {
  return "evalsha" in client ? new IoredisPort(client) : new NodeRedisPort(client);
}

/** The place that a client leads to, for messages, as far as the client says so. */
export function placeOfClient(client: RedisClient): string {
  const { options } = client as { readonly options?: Record<string, unknown> };
  const { host, port } = (options?.["socket"] ?? options ?? {}) as Record<string, unknown>;
  return typeof host === "string" && typeof port === "number" ? `${host}:${port}` : "the server";
}

/**
 * Connects at the first use, and again after a break, a doubt or `close`. All callers that ask while it connects wait for the same connection, so connecting has a time limit of its own: a network that
 * swallows everything after the server has accepted would otherwise keep them waiting for good, even when a new connection would work again.
 */
export class UrlPort implements RedisPort {
  readonly #server: Server;
  readonly #withClient: UrlClient;
  #opening: Promise<OwnPort> | undefined;
  #open: OwnPort | undefined;
  /** Ends the connecting that is under way. */
  #closing = new AbortController();

  constructor(server: Server, withClient: UrlClient = "own") {
    this.#server = server;
    this.#withClient = withClient;
  }

  get database(): number {
    return this.#server.database;
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#open?.isOpen === true) return this.#open.run(script, keys, args);
    return this.#connected().then((port) => port.run(script, keys, args));
  }

  async listen(ears: ChannelEars): Promise<Listening> {
    return await (await this.#connect()).listen(ears);
  }

  doubt(): void {
    this.#open?.end();
    this.#open = undefined;
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.doubt();
    this.#closing.abort(new Error("it was closed"));
    this.#closing = new AbortController();
    await opening?.then((port) => port.end()).catch(() => {}); // the connection never opened
  }

  async #connected(): Promise<OwnPort> {
    this.#opening ??= this.#connect().finally(() => (this.#opening = undefined));
    this.#open = await this.#opening;
    return this.#open;
  }

  async #connect(): Promise<OwnPort> {
    const open = openerOf(this.#withClient);
    if (open === undefined) throw new NothingInstalled(this.#withClient);
    try {
      return await open(this.#server, CONNECT_WITHIN_MS, this.#closing.signal);
    } catch (cause) {
      throw new NotSent((cause as Error | undefined)?.message ?? String(cause), { cause });
    }
  }
}

/** Undefined: the package is not installed. */
function openerOf(withClient: UrlClient): RedisOpener | undefined {
  if (withClient === "own") return openOwn;
  return withClient === "redis" ? nodeRedisOpener() : ioredisOpener();
}

/** Loads the package that the first request of a URL would load. */
export function loadRedisClient(withClient: UrlClient): void {
  openerOf(withClient);
}

/** The package that the user wants is not installed. */
export class NothingInstalled extends Error {
  override readonly name: string = "NothingInstalled";

  constructor(wanted: UrlClient) {
    super(`${wanted} is not installed. Run: npm install ${wanted}. Without the setting, no client is needed`);
  }
}
