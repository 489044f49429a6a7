// @ts-check
// Failover of Redis beside Redis Sentinel, at the same detection time, in one run and in turns. Three servers, each in a network namespace of its own; monitors and sentinels beside them. Two clients write all the time: one
// that follows Sentinel's word, and one that sits on the primary's host and knows only that server. Faults: the server is killed; its host is cut off with the second client. Counted are what clients were told is written.
// Needs root, iproute2, iptables, redis-server and etcd. Without namespaces it says so, and measures nothing.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { start as startEtcd } from "../scripts/servers/etcd.mjs";
import { openNetwork } from "../scripts/servers/network.mjs";
import { contest, countRound, endAll, launch, medianGapOf, note, rowsOf, spawnIn, until } from "./failover/hosts.mjs";
import { signalTo } from "../scripts/servers/signal.mjs";

const DOWN_AFTER_MS = 1000;
const TTL_MS = 2000;
const PORT = 7000;
const SENTINEL_PORTS = [26_401, 26_402, 26_403];
const ROUNDS = process.env["BENCH_QUICK"] === "1" ? 1 : 5;
const FAULTS = /** @type {const} */ (["killed", "cut off"]);
const SYSTEMS = /** @type {const} */ (["conclave failover", "Redis Sentinel"]);
const CLI = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const SELF = fileURLToPath(import.meta.url);
const REDIS = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--protected-mode", "no"];

/** @typedef {import("../scripts/servers/network.mjs").Host} Host */
/** @typedef {import("./failover/hosts.mjs").Outcome} Outcome */
/** `followersMin`: so many follow the new primary in the end. @typedef {{ followersMin: number, stop(): Promise<void> }} System */

if (process.argv[2] === "inside") await write(process.argv[3] ?? "", async () => process.argv[4] ?? "");
if (process.argv[2] === "outside") {
  const [here = "", name = ""] = process.argv.slice(4);
  await write(process.argv[3] ?? "", () => primaryBySentinel(here, name));
}

/**
 * Writes until it is killed, and notes when it was told that a write is done, and by which server. After every failure it asks anew who the primary is: what a client library makes of Sentinel's word is
 * not what is measured here. (The clients of ioredis and node-redis are in the tests.) @param {string} log @param {() => Promise<string>} find
 */
async function write(log, find) {
  /** @type {Redis | undefined} */
  let client;
  let server = "";
  for (let n = 1; ; n++) {
    const key = `${process.pid}:${n}`;
    try {
      if (client === undefined) {
        server = await find();
        client = await connect(server, PORT);
      }
      await client.set(key, "1");
      note(log, server, key);
    } catch {
      client?.disconnect();
      client = undefined;
      await sleep(20);
    }
    await sleep(2);
  }
}

/** As Sentinel's documentation asks of clients: the first sentinel that answers says who, and that one is asked for its role. @param {string} here @param {string} name */
async function primaryBySentinel(here, name) {
  for (const port of SENTINEL_PORTS) {
    const sentinel = await connect(here, port).catch(() => undefined);
    const address = await sentinel?.call("SENTINEL", "get-master-addr-by-name", name).catch(() => undefined);
    sentinel?.disconnect();
    const host = Array.isArray(address) ? String(address[0]) : undefined;
    if (host !== undefined && (await infoOf(host))?.role === "master") return host;
  }
  throw new Error("no sentinel knows a primary");
}

/** @param {string} host @param {number} port */
async function connect(host, port) {
  const client = new Redis({
    host,
    port,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    connectTimeout: 300,
    commandTimeout: 300,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

export async function run() {
  const network = openNetwork(3);
  const { hosts } = network;
  const here = hosts[0]?.address.replace(/\.\d+$/, ".254") ?? "";
  const etcd = await startEtcd({ nodes: 1, place: () => ({ host: here }) });
  const store = (etcd.urls[0] ?? "").replace("http:", "etcd:");
  /** @type {Record<string, Outcome[]>} */
  const seen = {};
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const fault of FAULTS)
        for (const system of SYSTEMS) {
          const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-failover-"));
          // Every round has a name of its own, so that nothing of an earlier one counts.
          const name = `orders-${round}-${fault.length}`;
          await countRound(`${system}, primary ${fault}`, seen, folder, async () => {
            const started = await (system === "Redis Sentinel"
              ? startSentinel(hosts, folder, here, name)
              : startOurs(hosts, folder, store, here, name));
            try {
              return await oneRound(started, hosts, folder, here, name, fault);
            } finally {
              await started.stop();
            }
          });
          await until(() => areGone(hosts), 60_000, "servers of the last round are still there");
        }
  } finally {
    await etcd.stop();
    network.stop();
  }
  const rows = Object.entries(seen).flatMap(([name, outcomes]) =>
    rowsOf(name, outcomes, name.startsWith("conclave") ? { double: "≤ 0" } : {}),
  );
  return [...rows, ...FAULTS.map((fault) => beyondSentinel(seen, fault))];
}

/** What the fence may cost: where the guard answers, nothing; where it is cut off, its seat has to run out. @param {Record<string, Outcome[]>} seen @param {typeof FAULTS[number]} fault */
function beyondSentinel(seen, fault) {
  const [ours = 0, theirs = 0] = SYSTEMS.map((system) => medianGapOf(seen[`${system}, primary ${fault}`] ?? []));
  return {
    name: `primary ${fault}: conclave failover is slower than Redis Sentinel by (medians)`,
    value: ours === Infinity ? 1_000_000 : theirs === Infinity ? 0 : ours - theirs,
    unit: "ms",
    goal: `≤ ${fault === "killed" ? 0 : TTL_MS}`,
  };
}

/** @param {System} system @param {Host[]} hosts @param {string} folder @param {string} here @param {string} name @param {typeof FAULTS[number]} fault */
async function oneRound(system, hosts, folder, here, name, fault) {
  const index = await primaryOf(hosts);
  const old = hosts[index];
  const pid = old && (await infoOf(old.address))?.pid;
  if (old === undefined || pid === undefined) throw new Error("there is no primary");
  const client = (/** @type {string} */ log, /** @type {string[]} */ ...words) => [
    SELF,
    words[0] ?? "",
    log,
    ...words.slice(1),
  ];
  return await contest({
    folder,
    old,
    start: (logs) => [
      spawnIn(old, process.execPath, client(logs.inside, "inside", old.address), path.join(folder, "inside.err")),
      launch(process.execPath, client(logs.outside, "outside", here, name), path.join(folder, "outside.err")),
    ],
    fault: () => (fault === "killed" ? signalTo(pid, "SIGKILL") : old.cut()),
    heal: () => old.heal(),
    withinMs: 40_000,
    missing: async (keys) => await missingOf(hosts[await primaryOf(hosts, system.followersMin)]?.address ?? "", keys),
  });
}

/** @param {string} host @param {readonly string[]} keys */
async function missingOf(host, keys) {
  const client = new Redis({ host, port: PORT });
  const found = await Promise.all(keys.map((key) => client.exists(key)));
  client.disconnect();
  return found.filter((count) => count === 0).length;
}

/**
 * `followers` are those that have their first copy. `connected_slaves` also counts those that still wait for it, so that a primary that is killed then takes all writes with it.
 * @param {string} host @returns {Promise<{ role: string, pid: number, followers: number } | undefined>}
 */
async function infoOf(host) {
  const client = await connect(host, PORT).catch(() => undefined);
  try {
    const info = (await client?.info()) ?? "";
    const field = (/** @type {string} */ name) => new RegExp(`^${name}:(.*)\r$`, "m").exec(info)?.[1] ?? "";
    if (info === "") return undefined;
    const followers = [...info.matchAll(/^slave\d+:.*\bstate=online\b/gm)].length;
    return { role: field("role"), pid: Number(field("process_id")), followers };
  } catch {
    return undefined;
  } finally {
    client?.disconnect();
  }
}

/** The one primary, with so many followers at least. @param {Host[]} hosts */
async function primaryOf(hosts, followersMin = 2) {
  for (const untilMs = Date.now() + 60_000; Date.now() < untilMs; await sleep(50)) {
    const found = await Promise.all(hosts.map(({ address }) => infoOf(address)));
    const primaries = found.flatMap((info, index) =>
      info?.role === "master" ? [{ index, followers: info.followers }] : [],
    );
    const [only] = primaries;
    if (primaries.length === 1 && only !== undefined && only.followers >= followersMin) return only.index;
  }
  throw new Error("no primary was seen");
}

/** @param {Host[]} hosts */
async function areGone(hosts) {
  const found = await Promise.all(hosts.map(({ address }) => infoOf(address)));
  return found.every((info) => info === undefined);
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
  const stop = () => endAll([...watching, ...guards], "SIGTERM");
  await orStop(primaryOf(hosts), stop);
  return { followersMin: 2, stop };
}

/** @param {Host[]} hosts @param {string} folder @param {string} here @param {string} name @returns {Promise<System>} */
async function startSentinel(hosts, folder, here, name) {
  const first = hosts[0]?.address ?? "";
  const servers = hosts.map((host, index) => {
    const dir = path.join(folder, `s${index}`);
    mkdirSync(dir);
    const follow = host.address === first ? [] : ["--replicaof", first, `${PORT}`];
    const words = ["--bind", "0.0.0.0", "--port", `${PORT}`, "--dir", dir, ...REDIS, ...follow];
    return spawnIn(host, "redis-server", words, path.join(folder, `s${index}.log`));
  });
  /** @type {import("node:child_process").ChildProcess[]} */
  const sentinels = [];
  const stop = () => endAll([...sentinels, ...servers], "SIGKILL");
  // Sentinels ask a primary for its replicas once in ten seconds. Those that it does not have when they first ask are unknown to them for so long, and one that is not known is neither promoted nor repointed.
  await orStop(primaryOf(hosts), stop);
  for (const [index, port] of SENTINEL_PORTS.entries()) {
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
    sentinels.push(launch("redis-server", [file, "--sentinel"], path.join(folder, `sentinel${index}.log`)));
  }
  const isReady = async () =>
    (await Promise.all(SENTINEL_PORTS.map((port) => knowsAll(here, port, name)))).every(Boolean);
  await orStop(until(isReady, 60_000, "the sentinels do not know each other and both replicas"), stop);
  // Nobody starts the killed one again: what Sentinel does not do is not measured.
  return { followersMin: 1, stop };
}

/** As a sentinel is that has watched for a while: it knows the other two, and both replicas, which follow. @param {string} host @param {number} port @param {string} name */
async function knowsAll(host, port, name) {
  const client = await connect(host, port).catch(() => undefined);
  try {
    const fields = (/** @type {unknown} */ flat) => {
      const list = /** @type {string[]} */ (flat);
      return Object.fromEntries(list.flatMap((key, index) => (index % 2 === 0 ? [[key, list[index + 1]]] : [])));
    };
    const primary = fields((await client?.call("SENTINEL", "MASTER", name)) ?? []);
    const listed = /** @type {unknown[]} */ ((await client?.call("SENTINEL", "REPLICAS", name)) ?? []);
    const replicas = listed.map((each) => fields(each));
    const areLinked = replicas.every((each) => each["flags"] === "slave" && each["master-link-status"] === "ok");
    return (
      primary["flags"] === "master" && primary["num-other-sentinels"] === "2" && replicas.length === 2 && areLinked
    );
  } catch {
    return false;
  } finally {
    client?.disconnect();
  }
}

/** @template T @param {Promise<T>} work @param {() => Promise<void>} stop */
async function orStop(work, stop) {
  try {
    return await work;
  } catch (error) {
    await stop();
    throw error;
  }
}
