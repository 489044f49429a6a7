// The port behind what a user has: a client of ioredis or of node-redis, or one server of a URL, for which the first of the two that is installed is loaded.
import { NotSent, type ChannelEars, type Listening, type RedisPort, type Script } from "./port.ts";
import { type IoredisClient, ioredisOpener, IoredisPort, type RedisOpener, type OwnPort } from "./ioredis.ts";
import { type NodeRedisClient, nodeRedisOpener, NodeRedisPort } from "./node-redis.ts";
import type { Server } from "./url.ts";

/** A client that a team already has: of ioredis or of redis, typed by what is used of it. */
export type RedisClient = IoredisClient | NodeRedisClient;

const CONNECT_WITHIN_MS = 5000;

export function isClient(source: unknown): source is RedisClient {
  const { evalsha, evalSha } = (source ?? {}) as Partial<IoredisClient & NodeRedisClient>;
  return typeof evalsha === "function" || typeof evalSha === "function";
}

/** A client of a Redis Cluster, which ioredis marks so. */
export function isCluster(source: unknown): boolean {
  const { isCluster: marked, slots } = (source ?? {}) as { readonly isCluster?: unknown; readonly slots?: unknown };
  return marked === true || slots !== undefined;
}

export function portOf(client: RedisClient): RedisPort {
  return "evalsha" in client ? new IoredisPort(client) : new NodeRedisPort(client);
}

/** Where a client leads, for messages; as far as it says so. */
export function placeOfClient(client: RedisClient): string {
  const { options } = client as { readonly options?: Record<string, unknown> };
  const { host, port } = (options?.["socket"] ?? options ?? {}) as Record<string, unknown>;
  return typeof host === "string" && typeof port === "number" ? `${host}:${port}` : "the server";
}

/**
 * Connects at the first use, and again after a break, a doubt or `close`. All who ask while it connects wait for the same connection, so that connecting has an end of its
 * own: a network that swallows everything after the server has accepted would otherwise keep them waiting for good, also when a new connection would work again.
 */
export class UrlPort implements RedisPort {
  readonly #server: Server;
  readonly #withClient: "ioredis" | "redis" | undefined;
  #opening: Promise<OwnPort> | undefined;
  #open: OwnPort | undefined;
  /** Ends what connects now. */
  #closing = new AbortController();

  constructor(server: Server, withClient?: "ioredis" | "redis") {
    this.#server = server;
    this.#withClient = withClient;
  }

  get database(): number {
    return this.#server.database;
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return await (await this.#connected()).run(script, keys, args);
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
    await opening?.then((port) => port.end()).catch(() => {}); // it never opened
  }

  async #connected(): Promise<OwnPort> {
    if (this.#open?.isOpen === true) return this.#open;
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

/** Undefined: neither is installed. */
function openerOf(withClient: string | undefined): RedisOpener | undefined {
  if (withClient === "redis") return nodeRedisOpener();
  return withClient === "ioredis" ? ioredisOpener() : (ioredisOpener() ?? nodeRedisOpener());
}

/** What the first request of a URL would load. */
export function loadRedisClient(withClient: string | undefined): void {
  openerOf(withClient);
}

/** Neither client is there. */
export class NothingInstalled extends Error {
  override readonly name: string = "NothingInstalled";

  constructor(wanted: string | undefined) {
    super(
      `${wanted ?? "no client of Redis"} is ${wanted === undefined ? "" : "not "}installed. Run: npm install ${wanted ?? "ioredis"}${wanted === undefined ? " (or redis)" : ""}`,
    );
  }
}
