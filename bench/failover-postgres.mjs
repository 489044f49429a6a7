// @ts-check
// Failover of PostgreSQL: three servers, each in a network namespace of its own with its guard; monitors beside them. Two clients write all the time: one that looks for the primary among the three, and one that sits on the
// primary's host and knows only that server. Faults: the server is killed with its guard; its host is cut off with the second client. Counted is what clients were told is committed, with and without a standby that has to
// confirm it. Needs root, iproute2, iptables, PostgreSQL and etcd. Without namespaces it says so, and measures nothing.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { start as startEtcd } from "../scripts/servers/etcd.mjs";
import { openNetwork } from "../scripts/servers/network.mjs";
import { makeCopies, serverCommand } from "../scripts/servers/postgres.mjs";
import { contest, countRound, endAll, launch, note, rowsOf, spawnIn } from "./failover/hosts.mjs";

const DOWN_AFTER_MS = 1000;
const TTL_MS = 2000;
const PORT = 7432;
const ROUNDS = process.env["BENCH_QUICK"] === "1" ? 1 : 5;
const WAIT_FOR_NOBODY = "commits wait for nobody";
const CLI = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const SELF = fileURLToPath(import.meta.url);
const SETTINGS = {
  fsync: "off",
  logging_collector: "on",
  log_directory: "log",
  listen_addresses: "*",
  unix_socket_directories: "",
};

/** @typedef {import("../scripts/servers/network.mjs").Host} Host */
/** @typedef {import("./failover/hosts.mjs").Outcome} Outcome */

if (process.argv[2] === "writes") await writes(process.argv.slice(4), process.argv[3] ?? "");

/** A client that writes until it is killed, and notes when it was told of a commit. @param {readonly string[]} urls @param {string} log */
async function writes(urls, log) {
  /** @type {pg.Client | undefined} */
  let client;
  const offset = Math.floor(Math.random() * 1_000_000) * 1000;
  for (let n = 1; ; n++) {
    let hasWarning = false;
    try {
      client ??= await find(urls);
      client.once("notice", () => (hasWarning = true));
      const { rows } = await client.query(
        /** @type {import("pg").QueryConfig} */ ({
          text: `INSERT INTO writes VALUES (${offset + n}) RETURNING host(inet_server_addr()) AS server`,
          query_timeout: 700,
        }),
      );
      if (!hasWarning) note(log, rows[0].server, offset + n);
    } catch {
      void client?.end().catch(() => {});
      client = undefined;
      await sleep(20);
    }
    await sleep(2);
  }
}

/** The first that is no standby. @param {readonly string[]} urls */
async function find(urls) {
  for (const connectionString of urls) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 300 });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query("SELECT pg_is_in_recovery() AS standby");
      if (rows[0].standby === false) return client;
    } catch {
      // The next one.
    }
    void client.end().catch(() => {});
  }
  throw new Error("nobody takes writes");
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
      for (const fault of /** @type {const} */ (["killed", "cut off"]))
        for (const confirmations of [1, 0]) {
          const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-failover-"));
          const name = `orders-${round}-${fault.length}-${confirmations}`;
          const kind = confirmations === 0 ? WAIT_FOR_NOBODY : "commits wait for a standby";
          await countRound(`PostgreSQL, ${kind}, primary ${fault}`, seen, folder, async () => {
            const group = await startGroup(hosts, folder, store, name, confirmations);
            try {
              return await oneRound(group, hosts, folder, fault);
            } finally {
              await group.stop();
            }
          });
        }
  } finally {
    await etcd.stop();
    network.stop();
  }
  return Object.entries(seen).flatMap(([name, outcomes]) =>
    rowsOf(name, outcomes, { double: "≤ 0", ...(name.includes(WAIT_FOR_NOBODY) ? {} : { lost: "≤ 0" }) }),
  );
}

/** @param {Awaited<ReturnType<typeof startGroup>>} group @param {Host[]} hosts @param {string} folder @param {"killed" | "cut off"} fault */
async function oneRound(group, hosts, folder, fault) {
  const index = await primaryOf(hosts);
  const old = hosts[index];
  if (old === undefined) throw new Error("there is no primary");
  await askOf(old.address, "CREATE TABLE writes (id bigint PRIMARY KEY)", 20_000);
  const urls = hosts.map((each) => urlOf(each));
  return await contest({
    folder,
    old,
    start: (logs) => [
      spawnIn(old, process.execPath, [SELF, "writes", logs.inside, urlOf(old)], path.join(folder, "inside.err")),
      launch(process.execPath, [SELF, "writes", logs.outside, ...urls], path.join(folder, "outside.err")),
    ],
    // With its guard: otherwise it is back at once, has more than the others, and is rightly chosen again.
    fault: () => (fault === "killed" ? group.killGuard(index) : old.cut()),
    heal: () => old.heal(),
    withinMs: 120_000,
    missing: async (keys) => {
      const next = await primaryOf(hosts, 1);
      const rows = await askOf(hosts[next]?.address ?? "", "SELECT id FROM writes", 20_000);
      const found = new Set(rows.map((row) => String(row["id"])));
      return keys.filter((key) => !found.has(key)).length;
    },
  });
}

/** @param {Host} host */
function urlOf(host) {
  return `postgres://postgres@${host.address}:${PORT}/postgres`;
}

/** @param {string} host @param {string} text @param {number} withinMs @returns {Promise<Record<string, unknown>[]>} */
async function askOf(host, text, withinMs) {
  const connectionString = `postgres://postgres@${host}:${PORT}/postgres`;
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 500 });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(/** @type {import("pg").QueryConfig} */ ({ text, query_timeout: withinMs }))).rows;
  } finally {
    void client.end().catch(() => {});
  }
}

/** The one primary, with so many followers at least. @param {Host[]} hosts */
async function primaryOf(hosts, followersMin = 2) {
  const look = "SELECT NOT pg_is_in_recovery() AS is_primary, (SELECT count(*) FROM pg_stat_replication) AS followers";
  for (const untilMs = Date.now() + 150_000; Date.now() < untilMs; await sleep(50)) {
    const found = await Promise.all(hosts.map(({ address }) => askOf(address, look, 500).catch(() => [])));
    const primaries = found.flatMap(([row], index) => (row?.["is_primary"] === true ? [{ index, row }] : []));
    const [only] = primaries;
    if (primaries.length === 1 && only !== undefined && Number(only.row["followers"]) >= followersMin)
      return only.index;
  }
  throw new Error("no primary was seen");
}

/** @param {Host[]} hosts @param {string} folder @param {string} store @param {string} name @param {number} confirmations */
async function startGroup(hosts, folder, store, name, confirmations) {
  const config = path.join(folder, "failover.json");
  const names = hosts.map((_host, index) => `s${index}`);
  await makeCopies(folder, names, SETTINGS, "10.0.0.0/8");
  const servers = Object.fromEntries(hosts.map((host, index) => [`s${index}`, urlOf(host)]));
  const monitors = ["m0", "m1", "m2"];
  const settings = {
    downAfterMs: DOWN_AFTER_MS,
    lookEveryMs: 100,
    ttlMs: TTL_MS,
    timeoutMs: 500,
    settleMs: 300,
    failoversMax: 100,
    confirmations,
  };
  writeFileSync(config, JSON.stringify({ name, kind: "postgres", store, monitors, servers, ...settings }));
  const guards = hosts.map((host, index) => {
    const command = serverCommand(path.join(folder, `s${index}`), PORT);
    const own = ["failover", "guard", "--config", config, "--server", `s${index}`, "--json"];
    const words = [CLI, ...own, "--ignore-unit", "postgresql.service", "--", ...command];
    return spawnIn(host, process.execPath, words, path.join(folder, `g${index}.log`));
  });
  const watching = monitors.map((monitor) => {
    const words = [CLI, "failover", "monitor", "--config", config, "--as", monitor, "--json"];
    return launch(process.execPath, words, path.join(folder, `${monitor}.log`));
  });
  const stop = () => endAll([...watching, ...guards], "SIGTERM");
  try {
    await primaryOf(hosts);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    killGuard: (/** @type {number} */ index) => void guards[index]?.kill("SIGKILL"),
    stop,
  };
}
