// One connection of our own to one server of Redis, in RESP 2. Each request is sent once. After a break, or an answer that cannot be read, the connection is closed for good, so that nothing sent on it can
// reach a server that was started later: a connection leads to one process or to none.
//
// Why an answer is never taken for that of another request: the server answers the requests of a connection in their order, and so each answer is for the request that has waited longest. An answer that nobody
// waits for means that the two sides do not agree on what was asked. Then the connection is closed, and what still waits is told of the break.
import type { IpcNetConnectOpts, Socket, TcpNetConnectOpts } from "node:net";
import { connectedWithin } from "./patience.ts";
import { encodeCommand, type Reply, ReplyError, RespReader, withoutArguments } from "./resp.ts";
import type { Server } from "./url.ts";

/** Called once for each request: with the answer, which may be a `ReplyError`, or with a `ConnectionBroken`. */
export type Settle = (reply: Reply | ConnectionBroken) => void;

/** The connection has ended. Whether the server has carried out what was sent before is not known. */
export class ConnectionBroken extends Error {
  override readonly name: string = "ConnectionBroken";
  /** As the code of the system's error, such as ECONNRESET. */
  readonly code: string | undefined;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.code = (cause as { readonly code?: string }).code;
  }
}

/** How a connection is opened. */
export interface RedisOpening {
  readonly withinMs: number;
  /** Ends it earlier. */
  readonly closed?: AbortSignal | undefined;
  /**
   * The server must have answered a PING, too. Otherwise the first request finds out that a server wants a password or a certificate, is still loading its data, or is no Redis; and it is not always known then whether that
   * request was carried out.
   */
  readonly pings?: boolean | undefined;
  /** A longer answer is an error. */
  readonly answerBytesMax?: number | undefined;
}

export class RedisConnection {
  readonly #socket: Socket;
  readonly #reader: RespReader;
  readonly #waiting: Settle[] = [];
  #broken: ConnectionBroken | undefined;
  #onBreak: ((why: ConnectionBroken) => void) | undefined;
  #onMessage: ((channel: string, message: string) => void) | undefined;

  private constructor(server: Server, answerBytesMax: number | undefined) {
    this.#reader = new RespReader(answerBytesMax);
    const socket = socketTo(server, (piece) => this.#hear(piece));
    socket.on("error", (error) => this.#break(error));
    socket.on("close", () => this.#break(new Error("the connection was closed")));
    this.#socket = socket;
  }

  /** Resolves when it is connected and logged in, or rejects, and then nothing of it is left. */
  static async open(server: Server, opening: RedisOpening): Promise<RedisConnection> {
    const connection = new RedisConnection(server, opening.answerBytesMax);
    try {
      await connectedWithin(connection.#begin(server, opening), opening.withinMs, opening.closed, () =>
        connection.close(),
      );
      return connection;
    } catch (error) {
      connection.close();
      throw error instanceof ConnectionBroken ? error.cause : error;
    }
  }

  async #begin(server: Server, { pings = false }: RedisOpening): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.whenBroken(reject);
      this.#socket.once(server.tls === undefined ? "connect" : "secureConnect", resolve);
    });
    const greetings = [...loginOf(server), ...(pings ? [["PING"]] : [])];
    await Promise.all(greetings.map((words) => this.#greet(words)));
  }

  get isOpen(): boolean {
    return this.#broken === undefined;
  }

  /** Sends one request, unless the connection has ended: then `settle` is called at once, and nothing was sent. */
  send(words: readonly string[], settle: Settle): void {
    if (this.#broken !== undefined) return settle(this.#broken);
    this.#waiting.push(settle);
    this.#socket.write(encodeCommand(words));
  }

  /** From the first SUBSCRIBE on, the server also sends messages, which answer no request. */
  hearMessages(onMessage: (channel: string, message: string) => void): void {
    this.#onMessage = onMessage;
  }

  /** `onBreak` is called once, after those that wait have been told. */
  whenBroken(onBreak: (why: ConnectionBroken) => void): void {
    if (this.#broken === undefined) this.#onBreak = onBreak;
    else onBreak(this.#broken);
  }

  close(why: Error = new Error("this side has closed the connection")): void {
    this.#break(why);
  }

  #greet(words: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(words, (reply) => {
        if (!(reply instanceof Error) || (words[0] === "PING" && isNoRight(reply))) resolve();
        else reject(reply instanceof ReplyError ? new ReplyError(withoutArguments(reply.message)) : reply);
      });
    });
  }

  /** The piece is overwritten when this has returned. */
  #hear(piece: Buffer): void {
    try {
      for (const reply of this.#reader.push(piece)) this.#answered(reply);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #answered(reply: Reply): void {
    if (this.#onMessage !== undefined && Array.isArray(reply) && reply[0] === "message")
      return this.#onMessage(String(reply[1]), String(reply[2]));
    const settle = this.#waiting.shift();
    if (settle === undefined) throw new Error("the server has answered what was not asked");
    settle(reply);
  }

  #break(cause: Error): void {
    if (this.#broken !== undefined) return;
    this.#broken = new ConnectionBroken(cause);
    this.#socket.destroy();
    for (const settle of this.#waiting.splice(0)) settle(this.#broken);
    this.#onBreak?.(this.#broken);
  }
}

const PIECE_BYTES = 64 * 1024;

/** node:net and node:tls are loaded with the first connection: that takes longer than loading the driver. */
function socketTo({ host, port, path, tls }: Server, hear: (piece: Buffer) => void): Socket {
  const where = path === undefined ? { host, port } : { path };
  if (tls === undefined) return plainSocket(where, hear).setNoDelay(true);
  return process
    .getBuiltinModule("node:tls")
    .connect({ ...where, ...tls })
    .setNoDelay(true)
    .on("data", hear);
}

/** All that comes is read into one buffer, which saves a stream and a buffer for each answer. */
function plainSocket(where: TcpNetConnectOpts | IpcNetConnectOpts, hear: (piece: Buffer) => void): Socket {
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const callback = (bytes: number): boolean => {
    hear(buffer.subarray(0, bytes));
    return true;
  };
  return process.getBuiltinModule("node:net").connect({ ...where, onread: { buffer, callback } });
}

function loginOf({ username, password, database }: Server): string[][] {
  const words = username === undefined ? ["AUTH"] : ["AUTH", username];
  const login = password === undefined ? [] : [[...words, password]];
  return database > 0 ? [...login, ["SELECT", String(database)]] : login;
}

/** A user who may do what a driver does may lack the right to PING. */
function isNoRight(reply: Error): boolean {
  return reply.message.startsWith("NOPERM");
}
