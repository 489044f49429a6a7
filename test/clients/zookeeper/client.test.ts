// The client of ZooKeeper against a server that does what a test says: order, loss, sessions that move and end.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import { NOT_WANTED } from "../../../src/clients/zookeeper/connection.ts";
import { CODE, ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import {
  createRequest,
  EPHEMERAL,
  getDataRequest,
  OPEN_ACL,
  OPERATION,
  readData,
  readMulti,
} from "../../../src/clients/zookeeper/messages.ts";
import { JuteReader, JuteWriter } from "../../../src/clients/zookeeper/jute.ts";
import { type Answer, FakeZooKeeper, framed, statBytes } from "./fake-zookeeper.ts";

let fake: FakeZooKeeper;
const soon = (): AbortSignal => AbortSignal.timeout(5000);
const client = (...others: FakeZooKeeper[]): ZooKeeperClient =>
  new ZooKeeperClient(parseAddress(`zookeeper://${[fake, ...others].map(({ host }) => host).join(",")}`, []));
const dataOf = (text: string): Buffer => Buffer.concat([new JuteWriter().text(text).finish(), statBytes()]);
const problemOf = async (promise: Promise<unknown>): Promise<Pick<ZooKeeperError, "problem" | "outcome">> => {
  const error = await promise.then(
    () => new Error("nothing went wrong"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ZooKeeperError)) throw error;
  return { problem: error.problem, outcome: error.outcome };
};

beforeEach(async () => {
  fake = await FakeZooKeeper.start();
});
afterEach(async () => await fake.stop());

describe("requests of one connection", () => {
  it("are answered in their order, each with its own answer", async () => {
    const paths: string[] = [];
    fake.answer = ({ reader }) => {
      const path = reader.text();
      paths.push(path);
      return dataOf(path);
    };
    const session = await client().begin(4000, soon());
    const answers = await Promise.all(
      ["/a", "/b", "/c"].map((path) => session.ask(getDataRequest(path, false), readData, soon())),
    );
    expect(answers.map(({ data }) => data.toString())).toEqual(["/a", "/b", "/c"]);
    expect(paths).toEqual(["/a", "/b", "/c"]);
    session.leave();
  });

  it("are refused with what the server says, and that is certain", async () => {
    fake.answer = () => CODE.noNode;
    const session = await client().begin(4000, soon());
    const asked = session.ask(getDataRequest("/a", false), readData, soon());
    expect(await problemOf(asked)).toEqual({ problem: "no-node", outcome: "not-applied" });
    session.leave();
  });

  it("have an unknown outcome when the connection is lost, and one that never left is certain", async () => {
    fake.answer = () => "close";
    const session = await client().begin(4000, soon());
    const create = createRequest("/a", Buffer.alloc(0), OPEN_ACL, EPHEMERAL);
    const connection = await session.connection(soon());
    expect(await problemOf(connection.ask(create, readData, soon()))).toMatchObject({ outcome: "unknown" });
    expect(await problemOf(connection.ask(create, readData, soon()))).toMatchObject({ outcome: "not-applied" });
    session.leave();
  });

  it("end the connection when one is given up: those that follow would wait behind it", async () => {
    fake.answer = () => "silence";
    const session = await client().begin(4000, soon());
    const connection = await session.connection(soon());
    const [given, behind] = [new AbortController(), new AbortController()];
    const first = problemOf(connection.ask(getDataRequest("/a", false), readData, given.signal));
    const second = problemOf(connection.ask(getDataRequest("/b", false), readData, behind.signal));
    given.abort();
    expect(connection.isOpen).toBe(false);
    expect([await first, await second].map(({ outcome }) => outcome)).toEqual(["unknown", "unknown"]);
    expect(connection.isOpen).toBe(false);
    session.leave();
  });

  it("leave the connection as it is when an answer is only not wanted any more", async () => {
    let answer: Answer = "silence";
    fake.answer = () => answer;
    const session = await client().begin(4000, soon());
    const connection = await session.connection(soon());
    const over = new AbortController();
    const asked = problemOf(connection.ask(getDataRequest("/a", false), readData, over.signal));
    over.abort(NOT_WANTED);
    expect((await asked).outcome).toBe("unknown"); // it was sent
    expect(connection.isOpen).toBe(true);
    answer = dataOf("late");
    session.leave();
  });

  it("take no answer that names another request: neither side knows any more which is whose", async () => {
    fake.answer = () => "silence";
    const session = await client().begin(4000, soon());
    const connection = await session.connection(soon());
    const asked = ["/a", "/b"].map((path) =>
      connection.ask(getDataRequest(path, false), readData, soon()).then(
        ({ data }) => data.toString(),
        (error: ZooKeeperError) => error.outcome,
      ),
    );
    await expect.poll(() => fake.asked.length).toBe(2);
    fake.send(framed(2, 8n, 0, dataOf("of the second")));
    expect(await Promise.all(asked)).toEqual(["unknown", "unknown"]);
    expect(connection.isOpen).toBe(false);
    session.leave();
  });

  it("that are longer than a server takes are not sent", async () => {
    const session = await client().begin(4000, soon());
    const create = createRequest("/a", Buffer.alloc(1_100_000), OPEN_ACL, EPHEMERAL);
    expect(await problemOf(session.ask(create, readData, soon()))).toEqual({
      problem: "too-large",
      outcome: "not-applied",
    });
    expect(fake.asked).toEqual([]);
    session.leave();
  });
});

describe("a session", () => {
  it("goes on at another server, with its id, when its connection is lost", async () => {
    const other = await FakeZooKeeper.start();
    other.answer = () => dataOf("there");
    const session = await client(other).begin(4000, soon());
    const before = session.road(await session.connection(soon()));
    fake.dropAll();
    await expect.poll(async () => session.road(await session.connection(soon()))).not.toBe(before);
    const { data } = await session.ask(getDataRequest("/a", false), readData, soon());
    expect(data.toString()).toBe("there");
    expect(other.sessions).toEqual([session.id]);
    session.leave();
    await other.stop();
  });

  it("tells the next server what it has seen, so that one that is behind refuses it", async () => {
    fake.answer = () => dataOf("here");
    const session = await client().begin(4000, soon());
    await session.ask(getDataRequest("/a", false), readData, soon());
    const { zxid } = fake;
    fake.dropAll();
    await expect.poll(async () => (await session.connection(soon())).isOpen && fake.seen.length).toBe(2);
    expect(fake.seen).toEqual([0n, zxid]);
    session.leave();
  });

  it("is over for good when no server knows it any more", async () => {
    const session = await client().begin(4000, soon());
    fake.accept = () => 0n;
    fake.dropAll();
    await expect.poll(async () => (await problemOf(session.connection(soon()))).problem).toBe("expired");
    expect(session.isOver).toBe(true);
    fake.accept = (asked) => asked;
    expect(await problemOf(session.connection(soon()))).toEqual({ problem: "expired", outcome: "not-applied" });
  });

  it("is over when the next server grants it less time than it has", async () => {
    const other = await FakeZooKeeper.start();
    other.longestMs = 3000;
    const session = await client(other).begin(4000, soon());
    const connection = await session.connection(soon());
    const lost = new Promise<void>((resolve) => connection.listen(() => {}, resolve));
    fake.dropAll();
    await lost;
    await session.connection(soon()).catch(() => {});
    expect([session.isOver, other.sessions]).toEqual([true, [session.id]]);
    session.leave();
    await other.stop();
  });

  it("is over for good when a request is told so", async () => {
    fake.answer = () => CODE.sessionExpired;
    const session = await client().begin(4000, soon());
    const asked = session.ask(getDataRequest("/a", false), readData, soon());
    expect(await problemOf(asked)).toEqual({ problem: "expired", outcome: "not-applied" });
    expect([session.isOver, session.openConnection]).toEqual([true, undefined]);
    fake.answer = () => dataOf("revived");
    const later = session.ask(getDataRequest("/a", false), readData, soon());
    expect(await problemOf(later)).toEqual({ problem: "expired", outcome: "not-applied" });
  });

  it("that is taken over elsewhere has roads of its own there, and is not taken over if another one is granted", async () => {
    const session = await client().begin(4000, soon());
    const { id: sessionId, password, timeoutMs } = session;
    const there = await client().attach(sessionId, password, timeoutMs, soon());
    expect(there?.id).toBe(sessionId);
    if (there === undefined) return;
    expect(there.road(await there.connection(soon()))).not.toBe(session.road(await session.connection(soon())));
    fake.accept = () => 0x9999n;
    expect(await client().attach(sessionId, password, timeoutMs, soon())).toBeUndefined();
    for (const each of [session, there]) each.leave();
  });

  it("leaves a connection over which it is told that it has moved", async () => {
    fake.answer = () => CODE.sessionMoved;
    const session = await client().begin(4000, soon());
    const connection = await session.connection(soon());
    expect(await problemOf(session.ask(getDataRequest("/a", false), readData, soon()))).toEqual({
      problem: "moved",
      outcome: "not-applied",
    });
    expect(connection.isOpen).toBe(false);
    session.leave();
  });

  it("is not begun at a server that is read-only, or that closes the connection; the next one is asked", async () => {
    const [closing, well] = [await FakeZooKeeper.start(), await FakeZooKeeper.start()];
    fake.isReadOnly = true;
    closing.accept = () => "close";
    const session = await client(closing, well).begin(4000, soon());
    expect((await session.connection(soon())).endpoint.port).toBe(Number(well.host.split(":")[1]));
    session.leave();
    await Promise.all([closing.stop(), well.stop()]);
  });

  it.each([
    ["Zookeeper version: 3.9.6\nMode: read-only\n", /has no majority, and is read-only/],
    ["This ZooKeeper instance is not currently serving requests\n", /has no majority: too many/],
    [
      "Zookeeper version: 3.9.6\nMode: follower\n",
      /closed the connection at once: it has no majority, it is stopping, it has as many.*, another kind of server listens there, or/,
    ],
    ["", /closed the connection at once: it has no majority, it is stopping, it has as many/],
  ])("that no server accepts is refused with what the server says of itself: %j", async (says, reason) => {
    Object.assign(fake, { says, accept: () => "close" });
    await expect(client().begin(4000, soon())).rejects.toThrow(reason);
  });

  it("sends nothing by itself: who forgets it lets it run out", async () => {
    const session = await client().begin(300, soon());
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(fake.asked).toEqual([]);
    session.leave();
  });

  it("pings where it is told to stay alive, and leaves a connection that is silent", async () => {
    fake.answer = ({ operation }) => (operation === OPERATION.ping ? Buffer.alloc(0) : "silence");
    const session = await client().begin(90, soon());
    const connection = await session.connection(soon());
    session.stayAlive();
    await expect.poll(() => fake.asked.length).toBeGreaterThan(2);
    expect(connection.isOpen).toBe(true);
    fake.answer = () => "silence";
    await expect.poll(() => connection.isOpen).toBe(false);
    session.leave();
  });
});

describe("what is no answer of ZooKeeper", () => {
  it.each<[string, Buffer]>([
    ["a message longer than any", Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ["a message of negative length", Buffer.from([0xff, 0, 0, 0])],
    ["an answer to nothing", framed(99, 1n, 0, Buffer.alloc(0))],
    ["the beginning of a page", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("ends the connection, and what waits for an answer, at once: %s", async (_, bytes) => {
    fake.answer = () => "silence";
    const session = await client().begin(4000, soon());
    const connection = await session.connection(soon());
    const patient = AbortSignal.timeout(60_000);
    const asked = problemOf(connection.ask(getDataRequest("/a", false), readData, patient));
    fake.send(bytes);
    expect((await asked).outcome).toBe("unknown");
    expect(connection.isOpen).toBe(false);
    session.leave();
  });

  it("is an answer that is too short: its request has an unknown outcome, and so have those that follow", async () => {
    fake.answer = () => Buffer.from([0, 0, 0, 9, 1]);
    const session = await client().begin(4000, soon());
    const asked = session.ask(getDataRequest("/a", false), readData, soon());
    expect(await problemOf(asked)).toEqual({ problem: "malformed", outcome: "unknown" });
    session.leave();
  });
});

it("a multi that was refused says which part was", () => {
  const writer = new JuteWriter();
  for (const code of [CODE.ok, CODE.noNode, CODE.inconsistency]) writer.int(-1).bool(false).int(code).int(code);
  const bytes = writer.int(-1).bool(true).int(-1).finish();
  expect(readMulti(new JuteReader(bytes)).map(({ code }) => code)).toEqual([0, CODE.noNode, CODE.inconsistency]);
});
