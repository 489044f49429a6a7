// The primary's host is cut off with half of its clients: guard, server, a monitor and those clients on one side, everything else on the other. And monitors that are cut from the primary, one and then two of three. Each
// server is on a host of its own (a network namespace) with its guard and a monitor; the store is outside. Judged by what clients were told on both sides.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { start as startEtcd } from "../../scripts/servers/etcd.mjs";
import { type Host, type Network, openNetwork } from "../../scripts/servers/network.mjs";
import { nowMs, sleep } from "../support/processes.ts";
import type { Servers } from "../support/servers.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { RedisTrio } from "./redis-trio.ts";
import { MONITORS, Onlooker, SERVERS, type Trio } from "./trio.ts";

/** Knows one server, writes to it, and notes what it was told is written and when. */
const CLIENTS = {
  redis: `const { Redis } = require("ioredis");
    const client = new Redis(process.argv[2], { maxRetriesPerRequest: 0, retryStrategy: () => 50, commandTimeout: 500 });
    client.on("error", () => {});
    const write = (id) => client.set("w:" + id, "1");`,
  postgres: `const pg = require("pg");
    let client;
    const write = async (id) => {
      try {
        if (client === undefined) {
          const fresh = new pg.Client({ connectionString: process.argv[2], connectionTimeoutMillis: 500 });
          fresh.on("error", () => {});
          fresh.on("notice", () => { throw new Error("a warning is no acknowledgement"); });
          await fresh.connect();
          client = fresh;
        }
        await client.query({ text: "INSERT INTO writes VALUES (" + id + ")", query_timeout: 1000 });
      } catch (error) {
        if (client) client.end().catch(() => {});
        client = undefined;
        throw error;
      }
    };`,
} as const;
const LOOP = `(async () => {
    for (let id = Number(process.argv[4]); ; id++) {
      try { await write(id); require("fs").appendFileSync(process.argv[3], Date.now() + " " + id + "\\n"); }
      catch { await new Promise((done) => setTimeout(done, 20)); }
      await new Promise((done) => setTimeout(done, 3));
    }
  })();`;

interface Told {
  readonly atMs: number;
  readonly id: number;
}

class Client {
  readonly #log: string;
  readonly #process: ChildProcess;

  /** On `host`, or outside. */
  constructor(trio: Trio, host: Host | undefined, server: string, offset: number) {
    this.#log = trio.cli.file(`client-${offset}.log`);
    const program = trio.cli.file(`client-${offset}.cjs`);
    writeFileSync(this.#log, "");
    const resolve = `const require = module.require("module").createRequire(${JSON.stringify(createRequire(import.meta.url).resolve("ioredis"))});`;
    writeFileSync(program, `{ ${resolve}\n${CLIENTS[trio.kind]}\n${LOOP} }`);
    const under = host === undefined ? [] : ["nsenter", `--net=/run/netns/${host.prefix.at(-1)}`];
    const words = [...under, process.execPath, program, trio.urlOf(server), this.#log, `${offset}`];
    this.#process = spawn(words[0] ?? "", words.slice(1), { stdio: "inherit" });
  }

  get told(): readonly Told[] {
    const lines = readFileSync(this.#log, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => ({ atMs: Number(line.split(" ")[0]), id: Number(line.split(" ")[1]) }));
  }

  async until(sinceMs: number, withinMs = 120_000): Promise<number> {
    const untilMs = nowMs() + withinMs;
    for (;;) {
      const found = this.told.find(({ atMs }) => atMs >= sinceMs);
      if (found !== undefined) return found.atMs;
      if (nowMs() > untilMs) throw new Error("it was told of no write");
      await sleep(20);
    }
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }
}

/** What a server has of the writes that clients were told of. */
async function has(trio: Trio, server: string, ids: readonly number[]): Promise<readonly number[]> {
  if (trio instanceof PostgresTrio) {
    const rows = (await trio.ask(server, "SELECT id FROM writes", 20_000)) as readonly { id: number }[];
    return rows.map(({ id }) => id);
  }
  const { Redis } = await import("ioredis");
  const client = new Redis(trio.urlOf(server));
  const found = await Promise.all(ids.map(async (id) => [id, await client.exists(`w:${id}`)] as const));
  client.disconnect();
  return found.filter(([, count]) => count === 1).map(([id]) => id);
}

describe.each([
  ["Redis", () => new RedisTrio(), {}],
  ["PostgreSQL", () => new PostgresTrio(), { confirmations: 1 }],
] as const)("%s, divided", (_name, make, settings) => {
  let network: Network;
  let store: Servers;
  let trio: Trio;
  let onlooker: Onlooker;
  let offset = 0;

  const hostOf = (name: string): Host => trio.hosts.get(name) as Host;
  const monitorOn = (server: string): string => MONITORS[SERVERS.indexOf(server as "a")] ?? "";

  beforeAll(async () => {
    network = openNetwork(3);
    trio = make();
    for (const [index, host] of network.hosts.entries())
      for (const name of [SERVERS[index], MONITORS[index]]) trio.hosts.set(name ?? "", host);
    const here = network.hosts[0]?.address.replace(/\.\d+$/, ".254") ?? "";
    store = await startEtcd({ nodes: 1, place: () => ({ host: here }) });
    await trio.start((store.urls[0] ?? "").replace("http:", "etcd:"), settings);
    const primary = await trio.settled(undefined, 180_000);
    if (trio instanceof PostgresTrio) await trio.ask(primary, "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
    onlooker = new Onlooker(trio);
  }, 180_000);

  afterAll(async () => {
    for (const host of network?.hosts ?? []) host.heal();
    await onlooker?.stop();
    await trio?.end();
    await store?.stop();
    network?.stop();
  }, 180_000);

  it("the primary is cut off with half of its clients: they are told nothing once the others are served, and what they were told before", async () => {
    const old = await trio.settled(undefined, 120_000);
    const inside = new Client(trio, hostOf(old), old, (offset += 1_000_000));
    const startMs = Date.now();
    await inside.until(startMs);
    await sleep(300);
    const cutMs = Date.now();
    hostOf(old).cut();
    const next = await trio.settled(old, 180_000);
    const outside = new Client(trio, undefined, next, (offset += 1_000_000));
    const servedMs = await outside.until(cutMs, 180_000);
    await sleep(1500);
    hostOf(old).heal();
    await expect.poll(() => trio.role(old), { timeout: 120_000 }).toBe("replica");
    inside.stop();
    outside.stop();
    expect(inside.told.filter(({ atMs }) => atMs > servedMs)).toEqual([]);
    const told = [...inside.told, ...outside.told].map(({ id }) => id);
    const found = new Set(await has(trio, await trio.settled(undefined, 120_000), told));
    const lost = told.filter((id) => !found.has(id));
    if (trio.kind === "postgres") expect(lost).toEqual([]);
    else {
      // Redis acknowledges before its replicas have it. Nothing of what was acknowledged before the cut is among it, and nothing after the guard's deadline.
      const lostAt = inside.told.filter(({ id }) => lost.includes(id)).map(({ atMs }) => atMs);
      expect(lostAt.every((atMs) => atMs > cutMs - 300 && atMs < servedMs)).toBe(true);
    }
  }, 300_000);

  it("one monitor that cannot see the primary is no quorum; two are, and still nobody else is writable before the primary is dead", async () => {
    const old = await trio.settled(undefined, 120_000);
    const [one, two] = SERVERS.filter((name) => name !== old);
    const since = new Date().toISOString();
    hostOf(one ?? "").cut(hostOf(old));
    const votes = (): string => trio.monitors.get(monitorOn(one ?? ""))?.stderr ?? "";
    const voted = (text: string): boolean =>
      text.split("\n").some((line) => line.includes('"isDown":true') && line.slice(7, 31) > since);
    await expect.poll(() => voted(votes()), { timeout: 30_000 }).toBe(true);
    await sleep(1500);
    expect(await trio.role(old)).toBe("primary");
    const client = new Client(trio, hostOf(old), old, (offset += 1_000_000));
    await client.until(Date.now() - 1);
    hostOf(two ?? "").cut(hostOf(old));
    await expect.poll(() => trio.role(old), { timeout: 120_000 }).not.toBe("primary");
    hostOf(one ?? "").heal();
    hostOf(two ?? "").heal();
    const next = await trio.settled(undefined, 180_000);
    client.stop();
    const told = client.told.map(({ id }) => id);
    const found = new Set(await has(trio, next, told));
    if (trio.kind === "postgres") expect(told.filter((id) => !found.has(id))).toEqual([]);
  }, 300_000);

  /** Lets this monitor lead: the others are away until it does. */
  const makeLead = async (name: string): Promise<void> => {
    const others = MONITORS.filter((other) => other !== name);
    const told = trio.monitors.get(name)?.stderr.length ?? 0;
    const isLeading = (): boolean => trio.leader() === name;
    if (isLeading()) return;
    await Promise.all(others.map(async (other) => await trio.monitors.get(other)?.kill()));
    const steps = (): string => trio.monitors.get(name)?.stderr.slice(told) ?? "";
    await expect.poll(() => steps().includes('"is":"step"'), { timeout: 60_000 }).toBe(true);
    await Promise.all(others.map((other) => trio.monitor(other)));
  };

  it("monitors that are cut from each other, with their servers, meet in the store: a primary that dies is replaced while they are cut, by a monitor that sees enough", async () => {
    const old = await trio.whole();
    const others = SERVERS.filter((name) => name !== old);
    const [one = "", two = ""] = others;
    await makeLead(monitorOn(one));
    await trio.steady();
    const lengths = new Map(MONITORS.map((name) => [name, trio.monitors.get(name)?.stderr.length]));
    const toldSince = (name: string): string => trio.monitors.get(name)?.stderr.slice(lengths.get(name as "m1")) ?? "";
    hostOf(one).cut(hostOf(two));
    await trio.guards.get(old)?.kill();
    const isReplaced = async (): Promise<boolean> =>
      (await Promise.all(others.map((name) => trio.role(name)))).includes("primary");
    await expect.poll(isReplaced, { timeout: 120_000 }).toBe(true);
    // Where commits wait for standbys, the leader has to see both servers. On one of the two hosts it does not, so it lets the monitor lead that stands beside the old primary.
    if (trio.kind === "postgres") expect(toldSince(monitorOn(one))).toContain('"is":"yields"');
    hostOf(one).heal();
    await trio.guard(old);
    await trio.whole(180_000);
  }, 400_000);

  it("at no time did two servers say that they take writes", () => {
    expect(onlooker.sweeps).toBeGreaterThan(20);
    expect(onlooker.doubles).toEqual([]);
  });
});
