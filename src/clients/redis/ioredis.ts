// The port of ioredis (5 and 6): around a client that the user made, and for a URL.
//
// A connection that we open ourselves is a bare one: it has no queue while it is not connected, sends nothing again after it broke, and does not try to connect again. So a request was sent once or not
// at all, and a break is an unknown outcome. A client of the user's may send a request again when it has connected again; the scripts can bear that, because a bid, a session and a release are the same
// when they come twice.
import { loadPeer } from "../load-peer.ts";
import { connectedWithin } from "./patience.ts";
import {
  asNotSent,
  bySha,
  type ChannelEars,
  type Listening,
  NotSent,
  type OwnPort,
  type RedisOpener,
  type RedisPort,
  type Script,
} from "./port.ts";
import type { Server } from "./url.ts";

/** The part of a `Redis` of ioredis that is used. */
export interface IoredisClient {
  readonly status: string;
  evalsha(sha: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  duplicate(): unknown;
}

/** The further methods, which are used on a connection of our own. */
interface OwnIoredis extends IoredisClient {
  connect(): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
}

export class IoredisPort implements RedisPort {
  readonly #client: IoredisClient;

  constructor(client: IoredisClient) {
    this.#client = client;
  }

  get database(): number {
    const { options } = this.#client as { readonly options?: { readonly db?: unknown } };
    return Number(options?.db ?? 0);
  }

  async run({ sha, text }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (client.status === "end")
      throw new NotSent("the client that was passed in is closed. Close it after the candidate");
    try {
      return await bySha({
        sha: () => client.evalsha(sha, keys.length, ...keys, ...args),
        text: () => client.eval(text, keys.length, ...keys, ...args),
      });
    } catch (error) {
      throw asNotSent(error);
    }
  }

  /** Listens on a connection of its own: a connection that listens can do nothing else. */
  async listen(ears: ChannelEars): Promise<Listening> {
    const own = this.#client.duplicate() as OwnIoredis;
    own.on("error", () => {}); // it connects again by itself, and hears later messages
    return listenOn(own, ears);
  }

  doubt(): void {}

  async close(): Promise<void> {}
}

/** Resolves to a connected client, or rejects with an error that says why it could not connect. */
async function open(server: Server, connectWithinMs: number, closed: AbortSignal): Promise<OwnIoredis> {
  const client = new (constructorOf(loadPeer("ioredis")))({
    host: server.host,
    port: server.port,
    ...(server.path === undefined ? {} : { path: server.path }),
    username: server.username,
    password: server.password,
    db: server.database,
    ...(server.tls === undefined ? {} : { tls: server.tls }),
    lazyConnect: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectWithinMs,
    retryStrategy: null,
  });
  let reason: Error | undefined;
  client.on("error", (error: Error) => (reason ??= error));
  try {
    await connectedWithin(client.connect(), connectWithinMs, closed, () => client.disconnect());
  } catch (error) {
    client.disconnect();
    throw reason ?? error;
  }
  // ioredis reports a wrong password beside the connection, which is closed a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  if (reason === undefined) return client;
  client.disconnect();
  throw reason;
}

/** Undefined if ioredis is not installed. */
export function ioredisOpener(): RedisOpener | undefined {
  if (loadPeer("ioredis") === undefined) return undefined;
  return async (server, connectWithinMs, closed) => new OwnIoredisPort(await open(server, connectWithinMs, closed));
}

class OwnIoredisPort implements OwnPort {
  readonly #client: OwnIoredis;
  isOpen = true;

  constructor(client: OwnIoredis) {
    this.#client = client;
    client.on("end", () => (this.isOpen = false));
    client.on("close", () => (this.isOpen = false));
  }

  run({ sha, text }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (!this.isOpen) return Promise.reject(new NotSent("the connection was closed"));
    return bySha({
      sha: () => client.evalsha(sha, keys.length, ...keys, ...args),
      text: () => client.eval(text, keys.length, ...keys, ...args),
    });
  }

  listen(ears: ChannelEars): Promise<Listening> {
    this.#client.on("end", () => ears.broken());
    return Promise.resolve(listenOn(this.#client, ears));
  }

  end(): void {
    this.isOpen = false;
    this.#client.disconnect();
  }
}

function listenOn(client: OwnIoredis, ears: ChannelEars): Listening {
  client.on("message", (channel: string, message: string) => ears.heard(channel, message));
  return {
    add: async (channel) => void (await client.subscribe(channel)),
    remove: (channel) => void client.unsubscribe(channel).catch(() => {}), // the subscription ends with the connection
    stop: () => client.disconnect(),
  };
}

type Constructor = new (options: object) => OwnIoredis;

function constructorOf(module: unknown): Constructor {
  const { Redis, default: main } = module as { readonly Redis?: Constructor; readonly default?: Constructor };
  const found = Redis ?? main ?? (module as Constructor);
  if (typeof found !== "function")
    throw new Error("ioredis is installed, and has no class Redis: version 5 or 6 is needed");
  return found;
}
