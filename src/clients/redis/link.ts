// A connection for commands that administrators send: INFO, ROLE, REPLICAOF. Each has a timeout of its own, after which the connection is closed for good: nothing sent on it can reach a server that was
// started later.
import { RedisConnection } from "./connection.ts";
import type { Reply } from "./resp.ts";
import type { Server } from "./url.ts";

export class RedisLink {
  readonly #connection: RedisConnection;

  private constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Resolves to a link that is connected and logged in, or rejects, and then nothing of it is left. */
  static async open(server: Server, withinMs: number): Promise<RedisLink> {
    return new RedisLink(await RedisConnection.open(server, { withinMs }));
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** Rejects with a `ReplyError` if the server refuses. After any other error it is not known whether the request was carried out. */
  ask(words: readonly string[], withinMs: number): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#connection.close(new Error(`no answer to ${words[0]} within ${withinMs} ms`)),
        withinMs,
      );
      this.#connection.send(words, (reply) => {
        clearTimeout(timer);
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      });
    });
  }

  close(): void {
    this.#connection.close();
  }
}
