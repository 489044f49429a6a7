// The two things that a driver or a fence needs of a client of Redis: run a script, and hear the messages that are published. Nothing else of a client is used, so that any of the usual ones can be
// passed in (ioredis.ts, node-redis.ts).
//
// The caller decides what an outcome means (errors.ts). A port tells it the one thing that only a client knows: whether a request was certainly never sent (`NotSent`).
import type { Server } from "./url.ts";

/** A script of Lua, and the hash by which a server that has seen it knows it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** The hash is made when it is first asked for, because node:crypto takes 3 ms to load. */
export function scriptOf(text: string): Script {
  let sha: string | undefined;
  return {
    text,
    get sha() {
      sha ??= process.getBuiltinModule("node:crypto").createHash("sha1").update(text).digest("hex");
      return sha;
    },
  };
}

/** Hears the messages that are published, until `broken` is called or the listening is stopped. */
export interface ChannelEars {
  heard(channel: string, message: string): void;
  /** Nothing more is heard. */
  broken(): void;
}

/** Channels can be added and taken away while it listens. */
export interface Listening {
  add(channel: string): Promise<void>;
  remove(channel: string): void;
  stop(): void;
}

export interface RedisPort {
  /** The number of the database, as far as the client says it. */
  readonly database: number;
  /** Runs one request. We never send it twice; a script that the server does not know yet was not run, and is sent with its text. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Rejects where there is no way to listen. */
  listen(ears: ChannelEars): Promise<Listening>;
  /** A caller has waited in vain: a connection of our own is given up, and the next request makes a new one. */
  doubt(): void;
  /** Closes the connections that were opened here, and never a client that the user made. */
  close(): Promise<void>;
}

/** A connection that we made. */
export interface OwnPort extends Omit<RedisPort, "database" | "doubt" | "close"> {
  readonly isOpen: boolean;
  end(): void;
}

/** Resolves to a port that is connected and logged in within that time, or rejects, and then nothing of it is left. `closed` ends it earlier. */
export type RedisOpener = (server: Server, connectWithinMs: number, closed: AbortSignal) => Promise<OwnPort>;

/** A request that certainly did not reach a server. */
export class NotSent extends Error {
  override readonly name: string = "NotSent";
}

/** What ioredis and node-redis say when they have refused a request themselves: nothing was sent. "Connection is closed" is not among these, because a request may have been on its way. */
const REFUSED_BY_CLIENT =
  /^(?:Connection in subscriber mode|Stream isn't writeable and enableOfflineQueue|The client is offline)/;

/** The rejection of a client that the user made. */
export function asNotSent(error: unknown): unknown {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  const isNotSent = typeof message === "string" && REFUSED_BY_CLIENT.test(message);
  return isNotSent ? new NotSent(message, { cause: error }) : error;
}

/** Runs a script by its hash, or with its text where the server does not know it, and so has not run it. */
export function bySha(run: {
  readonly sha: () => Promise<unknown>;
  readonly text: () => Promise<unknown>;
}): Promise<unknown> {
  return run.sha().catch((error: unknown) => {
    if (!isUnknownScript(error)) throw error;
    return run.text();
  });
}

/** The server does not know the script, and so has not run it. */
export function isUnknownScript(error: unknown): boolean {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return typeof message === "string" && message.startsWith("NOSCRIPT");
}
