// A connection of our own to Redis: which answer belongs to which request, what is told when it ends, and what is found out before the first request. The server is a script of answers, so that each comes at a
// chosen moment, and in chosen pieces.
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { UrlPort } from "../../../src/clients/redis/client.ts";
import { ConnectionBroken, type RedisOpening, RedisConnection } from "../../../src/clients/redis/connection.ts";
import { outcomeOf } from "../../../src/clients/redis/errors.ts";
import { NotSent, scriptOf } from "../../../src/clients/redis/port.ts";
import { encodeCommand, type Reply, ReplyError, RespReader } from "../../../src/clients/redis/resp.ts";

const WITHIN_MS = 5000;
const where = { place: "db.example:6379", grant: "ACL SETUSER" };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Scripted {
  readonly port: number;
  /** The requests that came, as their words. */
  readonly came: (readonly string[])[];
  /** Resolves to the next connection. */
  readonly socket: () => Promise<Socket>;
}

/** `answer` is asked for each request. Undefined: the server says nothing. */
async function scripted(answer: (words: readonly string[], socket: Socket) => string | undefined): Promise<Scripted> {
  const came: (readonly string[])[] = [];
  const arrived: Socket[] = [];
  let wake = (): void => {};
  const server: NetServer = createServer((socket) => {
    closing.push(() => socket.destroy());
    socket.on("error", () => {});
    const reader = new RespReader();
    socket.on("data", (piece) => {
      for (const words of reader.push(piece)) {
        came.push(words as readonly string[]);
        const said = answer(words as readonly string[], socket);
        if (said !== undefined) socket.write(said);
      }
    });
    arrived.push(socket);
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return {
    port: (server.address() as AddressInfo).port,
    came,
    socket: async () => {
      if (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return arrived[0] as Socket;
    },
  };
}

function open(port: number, opening: Partial<RedisOpening> = {}, login: object = {}): Promise<RedisConnection> {
  const opened = RedisConnection.open(
    { host: "127.0.0.1", port, database: 0, ...login },
    { withinMs: WITHIN_MS, ...opening },
  );
  closing.push(() => opened.then((connection) => connection.close()).catch(() => {}));
  return opened;
}

const ask = (connection: RedisConnection, ...words: string[]): Promise<Reply | ConnectionBroken> =>
  new Promise((resolve) => connection.send(words, resolve));

describe("answers", () => {
  it("go to the requests in their order, however they are cut", async () => {
    const held: string[] = [];
    const server = await scripted(([, word = ""]) => void held.push(word));
    const connection = await open(server.port);
    const answers = Promise.all(["a", "b", "c"].map((word) => ask(connection, "ECHO", word)));
    const socket = await server.socket();
    while (held.length < 3) await new Promise((resolve) => setImmediate(resolve));
    for (const byte of Buffer.from("$1\r\na\r\n-ERR b\r\n*2\r\n$1\r\nc\r\n:7\r\n")) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await answers).toEqual(["a", new ReplyError("ERR b"), ["c", 7]]);
  });

  it("that nobody waits for end the connection, because the next request would get it", async () => {
    const server = await scripted(() => "+OK\r\n+OK\r\n");
    const connection = await open(server.port);
    expect(await ask(connection, "ECHO", "a")).toBe("OK");
    const ended = await soon(new Promise<ConnectionBroken>((resolve) => connection.whenBroken(resolve)));
    expect([ended.message, connection.isOpen]).toEqual(["the server has answered what was not asked", false]);
    expect(await ask(connection, "ECHO", "b")).toBe(ended);
    expect(server.came).toEqual([["ECHO", "a"]]);
  });

  it("that are larger than allowed end the connection", async () => {
    const server = await scripted(() => `$5000\r\n${"a".repeat(2000)}`);
    const connection = await open(server.port, { answerBytesMax: 1000 });
    expect(await ask(connection, "ECHO", "a")).toMatchObject({ name: "ConnectionBroken", message: /5000 bytes/ });
  });

  it("of many kilobytes in pieces are not mixed up with what overwrites the buffer", async () => {
    const texts = ["a", "b"].map((sign) => sign.repeat(300_000));
    const server = await scripted(([, index]) => `$300000\r\n${texts[Number(index)]}\r\n`);
    const connection = await open(server.port);
    expect(await Promise.all([ask(connection, "ECHO", "0"), ask(connection, "ECHO", "1")])).toEqual(texts);
  });
});

describe("the end of a connection", () => {
  it("is told to all that wait, once, and to what is asked later without sending it", async () => {
    const server = await scripted((words, socket) => (words[1] === "b" ? void socket.destroy() : undefined));
    const connection = await open(server.port);
    let told = 0;
    connection.whenBroken(() => told++);
    const broken = await Promise.all([ask(connection, "ECHO", "a"), ask(connection, "ECHO", "b")]);
    expect(broken.every((each) => each instanceof ConnectionBroken)).toBe(true);
    connection.close();
    expect(await ask(connection, "ECHO", "c")).toBe(broken[0]);
    expect([told, server.came.length]).toEqual([1, 2]);
  });

  it("by this side is told, too", async () => {
    const server = await scripted(() => undefined);
    const connection = await open(server.port);
    const asked = ask(connection, "ECHO", "a");
    connection.close();
    expect(await asked).toMatchObject({ message: "this side has closed the connection" });
  });
});

describe("opening", () => {
  const refusal = async (answers: Readonly<Record<string, string>>, login: object = {}): Promise<unknown> => {
    const server = await scripted(([verb = ""]) => answers[verb] ?? "+OK\r\n");
    const port = new UrlPort({ host: "127.0.0.1", port: server.port, database: 0, ...login });
    closing.push(() => port.close());
    const error: unknown = await port.run(scriptOf("return 1"), [], []).catch((why: unknown) => why);
    expect(server.came.some(([verb]) => verb === "EVALSHA")).toBe(!(error instanceof NotSent));
    if (error instanceof NotSent) await closed(await server.socket());
    return error instanceof NotSent ? outcomeOf(error, where) : error;
  };

  it("sends user, password and database before anything else", async () => {
    const server = await scripted(() => "+OK\r\n");
    await open(server.port, { pings: true }, { username: "team", password: "secret", database: 3 });
    expect(server.came).toEqual([["AUTH", "team", "secret"], ["SELECT", "3"], ["PING"]]);
  });

  it("a server that wants a password is found out before the first request", async () => {
    expect(await refusal({ PING: "-NOAUTH Authentication required.\r\n" })).toMatchObject({
      kind: "refused",
      code: "STORE_DENIED",
    });
  });

  it("one that still loads its data, or takes no more connections, is tried again", async () => {
    for (const said of ["LOADING Redis is loading the dataset in memory", "ERR max number of clients reached"])
      expect(await refusal({ PING: `-${said}\r\n` })).toMatchObject({ code: "STORE_UNREACHABLE", retryable: true });
  });

  it("one without that database is said", async () => {
    const login = { database: 99 };
    expect(await refusal({ SELECT: "-ERR DB index is out of range\r\n" }, login)).toMatchObject({
      code: "STORE_UNSUPPORTED",
    });
  });

  it("a user who may not PING may do the rest", async () => {
    expect(await refusal({ PING: "-NOPERM this user has no permissions\r\n", EVALSHA: ":1\r\n" })).toBe(1);
  });

  it("a server that does not know AUTH, and repeats what it was sent, does not make us repeat a password", async () => {
    const said = "-ERR unknown command 'AUTH', with args beginning with: 'team' 'secret'\r\n";
    const refused = await refusal({ AUTH: said }, { username: "team", password: "secret" });
    expect(refused).toMatchObject({ code: "STORE_UNSUPPORTED" });
    expect(JSON.stringify(refused)).not.toContain("secret");
  });

  it("gives up a server that accepts and says nothing, and leaves no connection behind", async () => {
    const server = await scripted(() => undefined);
    const opening = open(server.port, { pings: true, withinMs: 50 });
    await expect(opening).rejects.toThrow("no answer within 50 ms");
    await closed(await server.socket());
  });

  it("ends when it is not wanted any more", async () => {
    const server = await scripted(() => undefined);
    const closed = new AbortController();
    const opening = open(server.port, { pings: true, closed: closed.signal });
    await server.socket();
    closed.abort(new Error("it was closed"));
    await expect(opening).rejects.toThrow("it was closed");
  });

  it("a server that hangs up while it is greeted was told nothing that counts", async () => {
    const server = await scripted((_, socket) => void socket.destroy());
    const port = new UrlPort({ host: "127.0.0.1", port: server.port, database: 0 });
    closing.push(() => port.close());
    await expect(port.run(scriptOf("return 1"), [], [])).rejects.toBeInstanceOf(NotSent);
  });
});

describe("listening", () => {
  it("tells messages apart from answers, and says when nothing more is heard", async () => {
    const server = await scripted(([verb, channel = ""], socket) => {
      if (verb === "PING") return "+PONG\r\n";
      socket.write(encodeMessage("early", "before the answer"));
      return channel === "denied" ? "-NOPERM no\r\n" : `*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n`;
    });
    const port = new UrlPort({ host: "127.0.0.1", port: server.port, database: 0 });
    const heard: string[] = [];
    let isBroken = (): void => {};
    const broken = new Promise<void>((resolve) => (isBroken = resolve));
    const ears = {
      heard: (channel: string, message: string) => void heard.push(`${channel}: ${message}`),
      broken: isBroken,
    };
    const listening = await port.listen(ears);
    closing.push(() => listening.stop());
    await listening.add("x");
    await expect(listening.add("denied")).rejects.toThrow("NOPERM");
    listening.remove("x");
    const socket = await server.socket();
    socket.end(encodeMessage("x", "vacant"));
    await broken;
    expect(heard.slice(0, 2)).toEqual(["early: before the answer", "early: before the answer"]);
    expect(heard.at(-1)).toBe("x: vacant");
  });
});

async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await soon(new Promise((resolve) => socket.once("close", resolve)));
}

async function soon<A>(event: Promise<A>): Promise<A> {
  const late = "it did not come about";
  const first = await Promise.race([
    event,
    new Promise<typeof late>((resolve) => setTimeout(resolve, WITHIN_MS, late)),
  ]);
  expect(first).not.toBe(late);
  return first as A;
}

/** Arrays are written like commands. */
function encodeMessage(channel: string, message: string): string {
  return encodeCommand(["message", channel, message]);
}
