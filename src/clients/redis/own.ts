// The port of a connection of our own, for a URL: no client needs to be installed.
//
// A request was sent once or not at all, and a break is an unknown outcome. The two things that a client of npm would add, to connect again and to send again, belong to the machine, which knows whether it still
// wants what it asked for.
import { type ConnectionBroken, RedisConnection } from "./connection.ts";
import {
  type ChannelEars,
  isUnknownScript,
  type Listening,
  NotSent,
  type OwnPort,
  type RedisOpener,
  type Script,
} from "./port.ts";
import { type Reply, ReplyError } from "./resp.ts";

/** A look may ask for the values of ten thousand names. */
const ANSWER_BYTES_MAX = 512 * 1024 * 1024;

export const openOwn: RedisOpener = async (server, withinMs, closed) =>
  new OwnConnectionPort(
    await RedisConnection.open(server, { withinMs, closed, pings: true, answerBytesMax: ANSWER_BYTES_MAX }),
  );

class OwnConnectionPort implements OwnPort {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      if (!connection.isOpen) return reject(new NotSent("the connection was closed"));
      const settle = (reply: Reply | ConnectionBroken): void =>
        reply instanceof Error ? reject(reply) : resolve(reply);
      connection.send(wordsOf("EVALSHA", script.sha, keys, args), (reply) => {
        if (!(reply instanceof ReplyError && isUnknownScript(reply))) return settle(reply);
        connection.send(wordsOf("EVAL", script.text, keys, args), settle);
      });
    });
  }

  listen(ears: ChannelEars): Promise<Listening> {
    const connection = this.#connection;
    connection.hearMessages((channel, message) => ears.heard(channel, message));
    connection.whenBroken(() => ears.broken());
    const ask = (words: readonly string[]): Promise<void> =>
      new Promise((resolve, reject) =>
        connection.send(words, (reply) => (reply instanceof Error ? reject(reply) : resolve())),
      );
    return Promise.resolve({
      add: (channel) => ask(["SUBSCRIBE", channel]),
      remove: (channel) => void ask(["UNSUBSCRIBE", channel]).catch(() => {}), // the subscription ends with the connection
      stop: () => connection.close(),
    });
  }

  end(): void {
    this.#connection.close();
  }
}

function wordsOf(command: string, script: string, keys: readonly string[], args: readonly string[]): string[] {
  return [command, script, String(keys.length), ...keys, ...args];
}
