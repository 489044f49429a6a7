// A switchover between two real servers of Redis, over a connection on which answers come late, are lost, or are heard when the hand-over was given up. A client writes to the old primary all the time, over a connection of
// its own, and counts what it was told is written. Whatever the guard does with the outcome, the successor has all of it.
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { redisReplication, type ServerLink, type ServerSpec } from "conclave/failover";
import { start } from "../../scripts/servers/redis.mjs";
import { RedisLink } from "../../src/clients/redis/link.ts";
import type { Servers } from "../support/servers.ts";
import { Wire } from "../support/wire.ts";

const TIMEOUT_MS = 200;
const WITHIN_MS = 1500;

let redis: Servers;
let wire: Wire;
let client: Client;
let others: { close(): unknown }[] = [];

function specOf(name: string, url: string): ServerSpec {
  const { hostname: host, port } = new URL(url);
  return { name, url: `redis://${host}:${port}`, host, port: Number(port), priority: 100 };
}

async function ask(url: string, ...words: readonly string[]): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const link = await RedisLink.open({ host, port: Number(port) } as Parameters<typeof RedisLink.open>[0], 2000);
  const reply = String(await link.ask(words, 5000));
  link.close();
  return reply;
}

/** Writes to one server, one after the other, until it is refused. */
class Client {
  readonly told: number[] = [];
  readonly #link: RedisLink;
  readonly #done: Promise<void>;

  private constructor(link: RedisLink) {
    this.#link = link;
    this.#done = this.#write();
  }

  static async of(url: string): Promise<Client> {
    const { hostname: host, port } = new URL(url);
    return new Client(await RedisLink.open({ host, port: Number(port) } as Parameters<typeof RedisLink.open>[0], 2000));
  }

  async #write(): Promise<void> {
    try {
      for (let id = 1; ; id++) {
        await this.#link.ask(["SET", `w:${id}`, "1"], 60_000);
        this.told.push(id);
      }
    } catch {
      // It is a replica now, or dead.
    }
  }

  async stop(): Promise<void> {
    this.#link.close();
    await this.#done;
  }
}

beforeEach(async () => {
  redis = await start({ nodes: 2, args: ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"] });
  const [a = "", b = ""] = redis.urls;
  await ask(b, "REPLICAOF", "127.0.0.1", new URL(a).port);
  await expect.poll(() => ask(b, "INFO"), { timeout: 20_000 }).toContain("master_link_status:up");
  wire = await Wire.to(a);
  client = await Client.of(a);
  await expect.poll(() => client.told.length).toBeGreaterThan(100);
}, 60_000);

afterEach(async () => {
  await client.stop();
  for (const other of others.splice(0)) other.close();
  wire.end();
  await redis.stop();
});

/** The guard's connection to the old primary, through `url`. */
async function linkThrough(url: string): Promise<ServerLink> {
  const [a = "", b = ""] = redis.urls;
  const servers = { a: specOf("a", a), b: specOf("b", b) };
  const link = await redisReplication(servers, { timeoutMs: TIMEOUT_MS, ttlMs: 2000 }).connect(specOf("a", url));
  others.push(link);
  await link.view();
  return link;
}

/** What the guard does: it kills a server of whose hand-over it does not know the outcome. Then the successor becomes the primary. */
async function lostAfter(outcome: string): Promise<readonly number[]> {
  if (outcome === "unknown") await redis.nodes[0]?.kill();
  await client.stop();
  const [, b = ""] = redis.urls;
  await ask(b, "REPLICAOF", "NO", "ONE");
  const found = await Promise.all(client.told.slice(-2000).map(async (id) => [id, await ask(b, "EXISTS", `w:${id}`)]));
  return found.filter(([, count]) => count !== "1").map(([id]) => Number(id));
}

/** The successor is cut off from the old primary: from now on it gets nothing more. */
async function cutSuccessor(): Promise<void> {
  await ask(redis.urls[1] ?? "", "REPLICAOF", "127.0.0.1", "1");
}

/** From then on a successor that was cut off lacks a write, so that no hand-over to it can be done. */
async function oneMoreWrite(): Promise<void> {
  const before = client.told.length;
  await expect.poll(() => client.told.length, { timeout: 10_000 }).toBeGreaterThan(before + 1);
}

/** Each answer of the server comes `lateMs` later. */
async function slowProxy(slowness: { lateMs: number }): Promise<string> {
  const target = new URL(redis.urls[0] ?? "");
  const server: Server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    near.on("data", (bytes: Buffer) => void far.write(bytes));
    far.on("data", (bytes: Buffer) => void setTimeout(() => void near.write(bytes), slowness.lateMs));
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  others.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("answers that come later than the timeout of one command: it is done, and nothing is lost", async () => {
  const slowness = { lateMs: 0 };
  const link = await linkThrough(await slowProxy(slowness));
  slowness.lateMs = 1.5 * TIMEOUT_MS;
  const outcome = await link.retire(specOf("b", redis.urls[1] ?? ""), WITHIN_MS);
  expect(outcome).toBe("done");
  expect(await lostAfter(outcome)).toEqual([]);
}, 60_000);

it("the command to become a replica is never answered: the server is killed while its writes are paused, and nothing is lost", async () => {
  const link = await linkThrough(wire.url);
  wire.keepBack("REPLICAOF");
  const retiring = link.retire(specOf("b", redis.urls[1] ?? ""), WITHIN_MS);
  await expect.poll(() => wire.hasKept, { timeout: 10_000 }).toBe(true);
  await cutSuccessor();
  wire.cut();
  const outcome = await retiring;
  expect(outcome).toBe("unknown");
  expect(await lostAfter(outcome)).toEqual([]);
}, 60_000);

it("the hand-over is given up when the server was told to become a replica and has not heard it: it takes no writes that it would lose", async () => {
  const [a = "", b = ""] = redis.urls;
  const link = await linkThrough(wire.url);
  wire.keepBack("REPLICAOF");
  const retiring = link.retire(specOf("b", b), WITHIN_MS);
  await expect.poll(() => wire.hasKept, { timeout: 10_000 }).toBe(true);
  await cutSuccessor();
  // The connection breaks before the command has arrived. It is sent again over a new one.
  wire.lead(a);
  await expect.poll(() => link.isOpen, { interval: 1 }).toBe(false);
  await link.unretire();
  const outcome = await retiring;
  expect(await lostAfter(outcome)).toEqual([]);
}, 60_000);

it("the hand-over is given up before the server was told to become a replica: it takes writes again at once", async () => {
  const link = await linkThrough(wire.url);
  await cutSuccessor();
  await oneMoreWrite();
  const retiring = link.retire(specOf("b", redis.urls[1] ?? ""), 20_000);
  const paused = async (): Promise<boolean> => {
    const before = client.told.length;
    await ask(redis.urls[0] ?? "", "PING");
    return client.told.length === before;
  };
  await expect.poll(paused, { timeout: 10_000 }).toBe(true);
  const before = client.told.length;
  await link.unretire();
  expect(await retiring).toBe("not-done");
  await expect.poll(() => client.told.length).toBeGreaterThan(before);
}, 60_000);

it("a second hand-over does not begin while the first is under way", async () => {
  const link = await linkThrough(wire.url);
  await cutSuccessor();
  await oneMoreWrite();
  const to = specOf("b", redis.urls[1] ?? "");
  const first = link.retire(to, 1000);
  expect(await link.retire(to, 1000)).toBe("not-done");
  expect(await first).toBe("not-done");
}, 60_000);
