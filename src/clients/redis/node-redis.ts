// The port of node-redis (`redis` 5 and 6): around a client that the user made, and for a URL. The rules are those of ioredis.ts.
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

/** The part of a client of redis (`createClient`) that is used. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  duplicate(): unknown;
}

interface OwnNodeRedis extends NodeRedisClient {
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  destroy(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
}

export class NodeRedisPort implements RedisPort {
  readonly #client: NodeRedisClient;

  constructor(client: NodeRedisClient) {
    this.#client = client;
  }

  get database(): number {
    const { options } = this.#client as { readonly options?: { readonly database?: unknown } };
    return Number(options?.database ?? 0);
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (!this.#client.isOpen)
      throw new NotSent(
        "the client that was passed in is not open. Call await client.connect() before, and close it after the candidate",
      );
    try {
      return await runOn(this.#client, script, keys, args);
    } catch (error) {
      throw asNotSent(error);
    }
  }

  async listen(ears: ChannelEars): Promise<Listening> {
    const own = this.#client.duplicate() as OwnNodeRedis;
    own.on("error", () => {}); // it connects again by itself, and hears later messages
    await own.connect();
    return listenOn(own, ears);
  }

  doubt(): void {}

  async close(): Promise<void> {}
}

/** Undefined if redis is not installed. */
export function nodeRedisOpener(): RedisOpener | undefined {
  const module = loadPeer("redis") as { readonly createClient?: (options: object) => OwnNodeRedis } | undefined;
  const createClient = module?.createClient;
  if (module === undefined) return undefined;
  if (createClient === undefined)
    throw new Error("redis is installed, and has no createClient: version 5 or 6 is needed");
  return async (server, connectWithinMs, closed) => {
    const client = createClient({
      socket: {
        ...(server.path === undefined ? { host: server.host, port: server.port } : { path: server.path }),
        ...(server.tls === undefined ? {} : { tls: true, ...server.tls }),
        connectTimeout: connectWithinMs,
        reconnectStrategy: false,
      },
      username: server.username,
      password: server.password,
      database: server.database,
      disableOfflineQueue: true,
    });
    const port = new OwnNodeRedisPort(client);
    await connectedWithin(client.connect(), connectWithinMs, closed, () => port.end());
    return port;
  };
}

class OwnNodeRedisPort implements OwnPort {
  readonly #client: OwnNodeRedis;
  #isEnded = false;
  #broken = (): void => {};

  constructor(client: OwnNodeRedis) {
    this.#client = client;
    client.on("error", () => this.#over()); // it does not connect again: the requests under way are rejected
    client.on("end", () => this.#over());
  }

  get isOpen(): boolean {
    return !this.#isEnded && this.#client.isOpen;
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (!this.isOpen) throw new NotSent("the connection was closed");
    return await runOn(this.#client, script, keys, args);
  }

  listen(ears: ChannelEars): Promise<Listening> {
    this.#broken = () => ears.broken();
    return Promise.resolve(listenOn(this.#client, ears));
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#client.isOpen) this.#client.destroy();
  }

  #over(): void {
    this.#isEnded = true;
    this.#broken();
  }
}

function runOn(
  client: NodeRedisClient,
  { sha, text }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const options = { keys: [...keys], arguments: [...args] };
  return bySha({ sha: () => client.evalSha(sha, options), text: () => client.eval(text, options) });
}

function listenOn(client: OwnNodeRedis, ears: ChannelEars): Listening {
  return {
    add: async (channel) => void (await client.subscribe(channel, (message, from) => ears.heard(from, message))),
    remove: (channel) => void client.unsubscribe(channel).catch(() => {}), // the subscription ends with the connection
    stop: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
