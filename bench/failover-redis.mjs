// @ts-check
// Failover of Redis beside Redis Sentinel, at the same detection time, in one run and in turns. Three servers, each in a network namespace of its own; monitors and sentinels beside them. Two clients write all the time: one
// that follows Sentinel's word, and one that sits on the primary's host and knows only that server. Faults: the server is killed; its host is cut off with the second client. Counted are what clients were told is written.
// Needs root, iproute2, iptables, redis-server and etcd. Without namespaces it says so, and measures nothing.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { start as startEtcd } from "../scripts/servers/etcd.mjs";
import { openNetwork } from "../scripts/servers/network.mjs";
import { endAll, launch, rowsOf, spawnIn } from "./failover/hosts.mjs";

const DOWN_AFTER_MS = 1000;
const TTL_MS = 2000;
const PORT = 7000;
const SENTINEL_PORTS = [26_401, 26_402, 26_403];
const ROUNDS = process.env["BENCH_QUICK"] === "1" ? 1 : 3;
const CLI = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const SELF = fileURLToPath(import.meta.url);
const REDIS = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--protected-mode", "no"];

/** @typedef {import("../scripts/servers/network.mjs").Host} Host */
/** @typedef {import("./failover/hosts.mjs").Outcome} Outcome */
/** @typedef {{ primary(): Promise<number>, killServer(index: number): Promise<void>, stop(): Promise<void> }} System */

if (process.argv[2] === "inside") await inside(process.argv[3] ?? "", process.argv[4] ?? "");

/** A client that knows one server: writes until it is killed, and notes when it was told that a write is done. @param {string} host @param {string} log */
async function inside(host, log) {
  const client = new Redis({ host, port: PORT, maxRetriesPerRequest: 0, retryStrategy: () => 50, commandTimeout: 500 });
  client.on("error", () => {});
  for (let n = 1; ; n++) {
    const key = `inside:${process.pid}:${n}`;
    try {
      await client.set(key, "1");
      writeFileSync(log, `${Date.now()} ${key}\n`, { flag: "a" });
    } catch {
      await sleep(20);
    }
    await sleep(2);
  }
}

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-failover-"));
  const network = openNetwork(3);
  const here = network.hosts[0]?.address.replace(/\.\d+$/, ".254") ?? "";
  const etcd = await startEtcd({ nodes: 1, place: () => ({ host: here }) });
  /** @type {Record<string, Outcome[]>} */
  const seen = {};
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const fault of /** @type {const} */ (["killed", "cut off"]))
        for (const system of /** @type {const} */ (["conclave failover", "Redis Sentinel"])) {
          const own = path.join(folder, `${round}-${fault}-${system}`.replaceAll(" ", "-"));
          mkdirSync(own);
          const store = (etcd.urls[0] ?? "").replace("http:", "etcd:");
          const name = `orders-${round}-${fault.length}`;
          const started = await (system === "Redis Sentinel"
            ? startSentinel(network.hosts, own, name)
            : startOurs(network.hosts, own, store, here, name));
          try {
            const outcome = await contest(started, network.hosts, own, here, name, fault);
            process.stderr.write(`${system}, ${fault}: ${JSON.stringify(outcome)}\n`);
            (seen[`${system}, primary ${fault}`] ??= []).push(outcome);
          } finally {
            await started.stop();
          }
        }
  } finally {
    await etcd.stop();
    network.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  return Object.entries(seen).flatMap(([name, outcomes]) => rowsOf(name, outcomes));
}

/** @param {System} system @param {Host[]} hosts @param {string} folder @param {string} here @param {string} name @param {"killed" | "cut off"} fault @returns {Promise<Outcome>} */
async function contest(system, hosts, folder, here, name, fault) {
  const old = await system.primary();
  const host = hosts[old];
  if (host === undefined) throw new Error("there is no primary");
  const log = path.join(folder, "inside.log");
  writeFileSync(log, "");
  const insider = spawnIn(
    host,
    process.execPath,
    [SELF, "inside", host.address, log],
    path.join(folder, "insider.err"),
  );
  const outside = new Outsider(here, name);
  await sleep(1500);
  const faultAt = Date.now();
  if (fault === "killed") await system.killServer(old);
  else host.cut();
  await outside.ackAfter(faultAt + 300, 40_000);
  await sleep(2500);
  if (fault === "cut off") host.heal();
  await sleep(1500);
  insider.kill("SIGKILL");
  const acks = await outside.stop();
  const next = await system.primary();
  await sleep(3000);
  const insideAcks = readFileSync(log, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => ({ at: Number(line.split(" ")[0]), key: line.split(" ")[1] ?? "" }));
  const before = acks.filter(({ at }) => at <= faultAt + 250).at(-1)?.at ?? faultAt;
  const after = acks.find(({ at }) => at > faultAt + 250)?.at ?? Infinity;
  // What the second client was told while the first one was already served by another server; later it may have been sent to the new primary's replica, which refuses.
  const late = insideAcks.filter(({ at }) => at > after);
  const lost = await missingOf(
    hosts[next]?.address ?? "",
    [...acks, ...insideAcks].map(({ key }) => key),
  );
  return {
    gapMs: after - before,
    lost,
    doubleMs: next === old || late.length === 0 ? 0 : Math.max(...late.map(({ at }) => at)) - after,
  };
}

/** @param {string} host @param {readonly string[]} keys */
async function missingOf(host, keys) {
  const client = new Redis({ host, port: PORT });
  const found = await Promise.all(keys.map((key) => client.exists(key)));
  client.disconnect();
  return found.filter((count) => count === 0).length;
}

/** Follows Sentinel's word, from the machine itself. */
class Outsider {
  /** @param {string} here @param {string} name */
  constructor(here, name) {
    /** @type {{ at: number, key: string }[]} */
    this.acks = [];
    this.isOn = true;
    const sentinels = SENTINEL_PORTS.map((port) => ({ host: here, port }));
    this.client = new Redis({
      sentinels,
      name,
      failoverDetector: true,
      maxRetriesPerRequest: 0,
      sentinelRetryStrategy: () => 50,
      retryStrategy: () => 50,
      commandTimeout: 300,
      connectTimeout: 500,
    });
    this.client.on("error", () => {});
    this.done = this.write();
  }

  async write() {
    for (let n = 1; this.isOn; n++) {
      const key = `outside:${n}:${Math.random()}`;
      try {
        await this.client.set(key, "1");
        this.acks.push({ at: Date.now(), key });
      } catch {
        if (this.client.status === "ready") this.client.disconnect(true);
        await sleep(20);
      }
      await sleep(2);
    }
  }

  /** @param {number} at @param {number} withinMs */
  async ackAfter(at, withinMs) {
    for (const until = Date.now() + withinMs; Date.now() < until; await sleep(10))
      if ((this.acks.at(-1)?.at ?? 0) > at) return;
    throw new Error("nobody took writes again");
  }

  async stop() {
    this.isOn = false;
    await this.done;
    this.client.disconnect();
    return this.acks;
  }
}

/** @param {string} host @returns {Promise<{ role: string, pid: number, followers: number } | undefined>} */
async function infoOf(host) {
  const client = new Redis({
    host,
    port: PORT,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    connectTimeout: 300,
    commandTimeout: 300,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    const info = await client.info();
    const field = (/** @type {string} */ name) => new RegExp(`^${name}:(.*)\r$`, "m").exec(info)?.[1] ?? "";
    return { role: field("role"), pid: Number(field("process_id")), followers: Number(field("connected_slaves")) };
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}

/** The one primary, with a follower at least. @param {Host[]} hosts */
async function primaryOf(hosts) {
  for (const until = Date.now() + 40_000; Date.now() < until; await sleep(50)) {
    const found = await Promise.all(hosts.map(({ address }) => infoOf(address)));
    const primaries = found.flatMap((info, index) =>
      info?.role === "master" ? [{ index, followers: info.followers }] : [],
    );
    const [only] = primaries;
    if (primaries.length === 1 && only !== undefined && only.followers >= 1) return only.index;
  }
  throw new Error("no primary was seen");
}

/** @param {Host[]} hosts @param {number} index */
async function killServer(hosts, index) {
  const info = await infoOf(hosts[index]?.address ?? "");
  if (info !== undefined) process.kill(info.pid, "SIGKILL");
}

/** @param {Host[]} hosts @param {string} folder @param {string} store @param {string} here @param {string} name @returns {Promise<System>} */
async function startOurs(hosts, folder, store, here, name) {
  const config = path.join(folder, "failover.json");
  const monitors = Object.fromEntries(SENTINEL_PORTS.map((port, index) => [`m${index}`, `${here}:${port}`]));
  const servers = Object.fromEntries(hosts.map(({ address }, index) => [`s${index}`, `redis://${address}:${PORT}`]));
  const settings = {
    downAfterMs: DOWN_AFTER_MS,
    lookEveryMs: 100,
    ttlMs: TTL_MS,
    timeoutMs: 500,
    settleMs: 300,
    failoversMax: 100,
  };
  writeFileSync(config, JSON.stringify({ name, kind: "redis", store, monitors, servers, ...settings }));
  const others = ["--ignore-unit", "redis-server.service", "--ignore-unit", "redis.service"];
  const guards = hosts.map((host, index) => {
    const dir = path.join(folder, `s${index}`);
    mkdirSync(dir);
    const redis = ["redis-server", "--bind", "0.0.0.0", "--port", `${PORT}`, "--dir", dir, ...REDIS];
    return spawnIn(
      host,
      process.execPath,
      [CLI, "failover", "guard", "--config", config, "--server", `s${index}`, "--json", ...others, "--", ...redis],
      path.join(folder, `g${index}.log`),
    );
  });
  const watching = SENTINEL_PORTS.map((port, index) =>
    launch(
      process.execPath,
      [
        CLI,
        "failover",
        "monitor",
        "--config",
        config,
        "--as",
        `m${index}`,
        "--sentinel",
        `${port}`,
        "--sentinel-host",
        here,
        "--json",
      ],
      path.join(folder, `m${index}.log`),
    ),
  );
  await primaryOf(hosts);
  await sleep(1000);
  return {
    primary: () => primaryOf(hosts),
    killServer: (index) => killServer(hosts, index),
    stop: () => endAll([...watching, ...guards], "SIGTERM"),
  };
}

/** @param {Host[]} hosts @param {string} folder @param {string} name @returns {Promise<System>} */
async function startSentinel(hosts, folder, name) {
  const first = hosts[0]?.address ?? "";
  const start = (/** @type {number} */ index, /** @type {string} */ primary) => {
    const dir = path.join(folder, `s${index}`);
    mkdirSync(dir, { recursive: true });
    const host = hosts[index];
    if (host === undefined) throw new Error("no such host");
    const follow = host.address === primary ? [] : ["--replicaof", primary, `${PORT}`];
    return spawnIn(
      host,
      "redis-server",
      ["--bind", "0.0.0.0", "--port", `${PORT}`, "--dir", dir, ...REDIS, ...follow],
      path.join(folder, `s${index}.log`),
    );
  };
  const servers = hosts.map((_host, index) => start(index, first));
  const here = first.replace(/\.\d+$/, ".254");
  await primaryOf(hosts);
  const sentinels = SENTINEL_PORTS.map((port, index) => {
    const file = path.join(folder, `sentinel${index}.conf`);
    const lines = [
      `port ${port}`,
      `bind ${here}`,
      "protected-mode no",
      `dir ${folder}`,
      `sentinel monitor ${name} ${first} ${PORT} 2`,
      `sentinel down-after-milliseconds ${name} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${name} 5000`,
      `sentinel parallel-syncs ${name} 2`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    return launch("redis-server", [file, "--sentinel"], path.join(folder, `sentinel${index}.log`));
  });
  await sleep(3000);
  return {
    primary: () => primaryOf(hosts),
    killServer: (index) => killServer(hosts, index),
    stop: () => endAll([...sentinels, ...servers], "SIGKILL"),
  };
}
