// Requests on real connections: each gets its own answer or none. What had not left is told apart from what may have been carried out, and a connection that could hold an answer to another request is
// used no more.
import { afterEach, describe, expect, it } from "vitest";
import { answerOf, Client, type Heard, puppet, type Puppet } from "./puppet.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function started(answer: (heard: Heard) => void): Promise<Puppet> {
  const server = await puppet(answer);
  ends.push(() => server.stop());
  return server;
}

function client(
  server: Puppet,
  ...settings: ConstructorParameters<typeof Client> extends [number, ...infer R] ? R : never
): Client {
  const made = new Client(server.port, ...settings);
  ends.push(() => made.pool.close());
  return made;
}

/** Answers with the path and the body of the request. */
const echo = ({ text, socket }: Heard) =>
  void socket.write(answerOf(`${text.split(" ")[1]} ${text.split("\r\n\r\n")[1]}`));

/** The first requests are answered as given, and every other one by `echo`. */
const firstly = (...answers: ((heard: Heard) => void)[]) => {
  let count = 0;
  return (heard: Heard) => (answers[count++] ?? echo)(heard);
};

describe("requests", () => {
  it("one after the other share one connection", async () => {
    const server = await started(echo);
    const asking = client(server);
    for (const path of ["/1", "/2", "/3"]) expect(await asking.text(path, "é𝕏")).toBe(`${path} Ã©ð\u009d\u0095\u008f`);
    expect(server.heard.map(({ connection }) => connection)).toEqual([1, 1, 1]);
  });

  it("at once have a few connections, one request at a time on each, and each has its own answer", async () => {
    let atOnce = 0;
    const most = { seen: 0 };
    const server = await started((heard) => {
      most.seen = Math.max(most.seen, ++atOnce);
      setImmediate(() => {
        atOnce--;
        echo(heard);
      });
    });
    const asking = client(server);
    const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
    expect(await Promise.all(paths.map((path) => asking.text(path)))).toEqual(paths.map((path) => `${path} `));
    expect(server.sockets).toHaveLength(2);
    expect(most.seen).toBeLessThanOrEqual(2);
  });

  it("whose answer is long, or comes in many parts, are answered with the whole of it", async () => {
    const long = Array.from({ length: 50_000 }, (_, index) => `é${index}`).join(" ");
    const server = await started(({ socket }) => void socket.write(answerOf(long)));
    expect(await client(server).text()).toBe(long);
  });

  it("whose answer is longer than may be fail, before it is whole", async () => {
    const server = await started(
      ({ socket }) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n${"x".repeat(2000)}`),
    );
    const asking = client(server, { bodyBytes: 1000 });
    expect(await asking.problem()).toMatchObject({
      problem: "malformed",
      message: "an answer has more than 1000 bytes",
    });
    await server.hasClosed(0);
  });
});

it("an answer in very many parts takes no more memory than one in few", async () => {
  const parts = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(500)}0\r\n\r\n`;
  const server = await started(({ socket }) => void socket.write(parts));
  expect(await client(server, { bodyBytes: 100_000 }).text()).toHaveLength(500);
  expect(await client(server, { bodyBytes: 10_000 }).problem()).toMatchObject({ problem: "malformed" });
});

describe("a connection takes no other request after", () => {
  const other: readonly (readonly [what: string, answer: (heard: Heard) => void, problem: string | undefined])[] = [
    ["an answer that says so", ({ socket }) => void socket.write(answerOf("last", "connection: close\r\n")), undefined],
    ["an answer of HTTP/1.0", ({ socket }) => void socket.end("HTTP/1.0 200 OK\r\n\r\nlast"), undefined],
    ["an answer without a length", ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\n\r\nlast"), undefined],
    [
      "an answer that was cut off",
      ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlast"),
      "unanswered",
    ],
    [
      "chunks that were cut off",
      ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nlast\r\n"),
      "unanswered",
    ],
    ["no answer at all", ({ socket }) => void socket.destroy(), "unanswered"],
    ["a reset", ({ socket }) => void socket.resetAndDestroy(), "unanswered"],
    ["two answers at once", ({ socket }) => void socket.write(answerOf("one") + answerOf("two")), "malformed"],
    ["what is no answer", ({ socket }) => void socket.write("SSH-2.0-x\r\n"), "malformed"],
  ];

  it.each(other)("%s", async (_, answer, problem) => {
    const server = await started(firstly(answer));
    const asking = client(server);
    if (problem === undefined) expect(await asking.text("/1", "{}")).toBe("last");
    else expect(await asking.problem("/1", "{}")).toMatchObject({ problem });
    await server.hasClosed(0);
    expect(await asking.text("/2")).toBe("/2 ");
    expect(server.heard.map(({ connection, text }) => `${connection} ${text.split(" ")[1]}`)).toEqual(["1 /1", "2 /2"]);
  });

  it("an answer that came before the whole request was sent", async () => {
    const server = await started(echo);
    const asking = client(server);
    expect(await asking.text("/1")).toBe("/1 ");
    const [first] = server.sockets;
    first?.pause();
    const asked = asking.ask("/2", "x".repeat(30_000_000));
    first?.write("HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\ntoo");
    expect(await asked).toMatchObject({ head: { status: 413 }, text: "too" });
    first?.resume();
    expect(await asking.text("/3")).toBe("/3 ");
    expect(server.heard.at(-1)).toMatchObject({ connection: 2 });
  });

  it("bytes that came while no request waited", async () => {
    const server = await started(echo);
    const asking = client(server);
    await asking.text("/1");
    server.sockets[0]?.write("HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n");
    await server.hasClosed(0);
    expect(await asking.text("/2")).toBe("/2 ");
    expect(server.heard.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  it("the server has closed it", async () => {
    const server = await started(echo);
    const asking = client(server);
    await asking.text("/1");
    server.sockets[0]?.end();
    await server.hasClosed(0);
    expect(await asking.text("/2")).toBe("/2 ");
  });

  it("it was idle for long, by our own count or by the server's", async () => {
    const kept = { head: "keep-alive: timeout=1\r\n" };
    const server = await started(({ socket }) => void socket.write(answerOf("ok", kept.head)));
    const asking = client(server);
    await asking.text();
    await server.hasClosed(0);
    kept.head = "";
    const impatient = client(server, { idleMs: 20 });
    await impatient.text();
    await server.hasClosed(1);
    expect(await impatient.text()).toBe("ok");
  });

  it("is not idle while a request waits, however long", async () => {
    const server = await started(({ socket }) => void setTimeout(() => socket.write(answerOf("late")), 100));
    const asking = client(server, { idleMs: 20 });
    expect(await asking.text()).toBe("late");
    await server.hasClosed(0);
  });
});

describe("a request that is given up", () => {
  it("is unanswered if it was sent, ends its connection and the idle ones, and its answer reaches nobody", async () => {
    const late: Heard[] = [];
    const server = await started((heard) => (heard.text.includes("/slow") ? void late.push(heard) : echo(heard)));
    const asking = client(server);
    await Promise.all([asking.text("/a"), asking.text("/b")]);
    const controller = new AbortController();
    const slow = asking.problem("/slow", "{}", controller.signal);
    await server.hasHeard(3);
    controller.abort();
    expect(await slow).toMatchObject({ problem: "unanswered" });
    late[0]?.socket.write(answerOf("too late"));
    expect(await asking.text("/c")).toBe("/c ");
    await Promise.all([server.hasClosed(0), server.hasClosed(1)]);
    expect(server.sockets).toHaveLength(3);
  });

  it("is unanswered after its time, whatever its caller's patience is", async () => {
    const server = await started(() => {});
    expect(await client(server, { answerMs: 30 }).problem()).toMatchObject({ problem: "unanswered" });
    await server.hasClosed(0);
  });

  it("while others have all connections is unsent, and is never sent", async () => {
    const held: Heard[] = [];
    const server = await started((heard) => void held.push(heard));
    const asking = client(server, { connections: 1 });
    const first = asking.text("/1");
    const controller = new AbortController();
    const second = asking.problem("/2", "{}", controller.signal);
    const third = asking.text("/3");
    await server.hasHeard(1);
    controller.abort();
    expect(await second).toMatchObject({ problem: "unsent" });
    echo(held[0] as Heard);
    expect(await first).toBe("/1 ");
    await server.hasHeard(2);
    expect(server.heard.map(({ text }) => text.split(" ")[1])).toEqual(["/1", "/3"]);
    echo(held[1] as Heard);
    expect(await third).toBe("/3 ");
  });

  it("before there is a connection is unconnected", async () => {
    const server = await started(echo);
    const asking = client(server);
    const controller = new AbortController();
    const asked = asking.problem("/", "{}", controller.signal);
    controller.abort();
    expect(await asked).toMatchObject({ problem: "unconnected" });
    expect(server.heard).toEqual([]);
  });
});

describe("those that wait for a connection", () => {
  it("get another one when theirs is lost", async () => {
    const server = await started(firstly(({ socket }) => void socket.destroy()));
    const asking = client(server, { connections: 1 });
    const [first, ...rest] = await Promise.all([asking.problem("/1"), asking.text("/2"), asking.text("/3")]);
    expect(first).toMatchObject({ problem: "unanswered" });
    expect(rest).toEqual(["/2 ", "/3 "]);
  });

  it("are unsent when the client is closed, and those that were sent are unanswered", async () => {
    const server = await started(() => {});
    const asking = client(server, { connections: 1 });
    const asked = [asking.problem("/1"), asking.problem("/2")];
    await server.hasHeard(1);
    asking.pool.close();
    expect((await Promise.all(asked)).map(({ problem }) => problem)).toEqual(["unanswered", "unsent"]);
    await server.hasClosed(0);
    expect(server.heard).toHaveLength(1);
  });

  it("are answered when the pool is replaced, and then nothing is kept", async () => {
    const held: Heard[] = [];
    const server = await started((heard) => (heard.text.includes("/held") ? void held.push(heard) : echo(heard)));
    const asking = client(server);
    await Promise.all([asking.text("/a"), asking.text("/b")]);
    const slow = asking.text("/held");
    await server.hasHeard(3);
    asking.pool.retire();
    echo(held[0] as Heard);
    expect(await slow).toBe("/held ");
    await Promise.all([server.hasClosed(0), server.hasClosed(1)]);
  });
});

it("a server that is not there is unconnected, with Node's reason", async () => {
  const server = await puppet(echo);
  await server.stop();
  const asking = new Client(server.port);
  expect(await asking.problem()).toMatchObject({ problem: "unconnected", cause: { code: "ECONNREFUSED" } });
  expect(await new Client(1, {}, { host: "nobody.invalid" }).problem()).toMatchObject({ problem: "unconnected" });
});

it("a name with several addresses is reached by the one that answers", async () => {
  const server = await started(echo);
  expect(await client(server, {}, { host: "localhost" }).text("/1")).toBe("/1 ");
});
