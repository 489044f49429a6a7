// One connection to one server of Redis, for commands that administrators send: INFO, ROLE, REPLICAOF. Each request is sent once. After a break, a timeout or an answer that cannot be read, the
// connection is closed for good, so that nothing sent on it can reach a server that was started later: a link leads to one process or to none.
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { encodeCommand, type Reply, ReplyError, RespReader, withoutArguments } from "./resp.ts";
import type { Server } from "./url.ts";

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export class RedisLink {
  readonly #socket: Socket;
  readonly #reader = new RespReader();
  readonly #waiting: Waiting[] = [];
  #broken: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => this.#hear(piece));
    socket.on("error", (error) => this.#break(error));
    socket.on("close", () => this.#break(new Error("the connection was closed")));
  }

  /** Resolves to a link that is connected and logged in, or rejects, and then nothing of it is left. */
  static async open(server: Server, withinMs: number): Promise<RedisLink> {
    const link = new RedisLink(await connected(server, withinMs));
    const { username, password } = server;
    if (password !== undefined)
      try {
        await link.ask(username === undefined ? ["AUTH", password] : ["AUTH", username, password], withinMs);
      } catch (error) {
        link.close();
        throw error instanceof ReplyError ? new ReplyError(withoutArguments(error.message)) : error;
      }
    return link;
  }

  get isOpen(): boolean {
    return this.#broken === undefined;
  }

  /** Rejects with a `ReplyError` if the server refuses. After any other error it is not known whether the request was carried out. */
  ask(words: readonly string[], withinMs: number): Promise<Reply> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#break(new Error(`no answer to ${words[0]} within ${withinMs} ms`)),
        withinMs,
      );
      const settle = <A>(then: (answer: A) => void): ((answer: A) => void) => {
        return (answer) => {
          clearTimeout(timer);
          then(answer);
        };
      };
      this.#waiting.push({ resolve: settle(resolve), reject: settle(reject) });
      this.#socket.write(encodeCommand(words));
    });
  }

  close(): void {
    this.#break(new Error("this side has closed the connection"));
  }

  #hear(piece: Buffer): void {
    try {
      for (const reply of this.#reader.push(piece)) {
        const waiting = this.#waiting.shift();
        if (reply instanceof ReplyError) waiting?.reject(reply);
        else waiting?.resolve(reply);
      }
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #break(error: Error): void {
    this.#broken ??= error;
    this.#socket.destroy();
    for (const { reject } of this.#waiting.splice(0)) reject(this.#broken);
  }
}

function connected(server: Server, withinMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port, path, tls } = server;
    const where = path === undefined ? { host, port } : { path };
    const socket = tls === undefined ? connectPlain(where) : connectTls({ ...where, ...tls });
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${withinMs} ms`)), withinMs);
    const failed = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once("error", failed);
    socket.once(tls === undefined ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      socket.off("error", failed);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}
