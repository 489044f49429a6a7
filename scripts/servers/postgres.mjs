// @ts-check
// PostgreSQL 15 on loopback: one primary, and with more nodes streaming replicas of it that can be promoted. Refuses to run as root, so that as root it
// runs as `nobody`. Two ways in: `postgres`, the superuser, without a password, and whatever roles a test makes with one (scram-sha-256).
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { cached } from "../cached.mjs";
import { freePorts, launch, privateFolder, statOf, untilStopped } from "./process.mjs";
import { signalTo } from "./signal.mjs";

export { newer } from "../newer-postgres.mjs";
export const packages = ["postgresql", "faketime"];
/** Where the URL of one stands that runs already and that many tests may use: each makes databases of its own. */
export const shared = "CONCLAVE_SHARED_POSTGRES";

/** Another version can be tried: its folder of programs in the environment. One without pg_basebackup has no replicas. */
const BIN = process.env["CONCLAVE_POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin";
const NOBODY = 65_534;
const INITDB = ["-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "--no-sync"];
const isRoot = process.getuid?.() === 0;

/** @typedef {import("./process.mjs").ServerNode & { promote(): Promise<void> }} PostgresNode */
/** @typedef {Omit<import("./process.mjs").Servers, "nodes"> & { nodes: PostgresNode[] }} PostgresServers */

/**
 * @param {object} [options]
 * @param {number} [options.nodes] the first is the primary, the others follow it
 * @param {string} [options.folder] where the data goes; a private one if not given
 * @param {Readonly<Record<string, string>>} [options.settings] of postgresql.conf
 * @param {boolean} [options.tls] with a certificate of its own making
 * @param {Record<string, string>} [options.env] of the servers: libfaketime's, for instance
 * @returns {Promise<PostgresServers>}
 */
export async function start({ nodes: count = 1, folder, settings = {}, tls = false, env = {} } = {}) {
  const own = folder === undefined ? privateFolder("postgres") : undefined;
  const base = folder ?? own?.folder ?? "";
  mkdirSync(base, { recursive: true });
  if (isRoot) chownSync(base, NOBODY, NOBODY);
  const ports = await freePorts(count);
  /** @type {PostgresNode[]} */
  const nodes = [];
  for (const [index, port] of ports.entries()) {
    const data = path.join(base, `n${index}`);
    if (index === 0) await initialise(data, base, settings, tls);
    else copy(data, ports[0] ?? 0, `n${index}`);
    nodes.push(await startNode(data, base, port, `n${index}`, env));
  }
  return {
    urls: nodes.map(({ url }) => url),
    nodes,
    version: async () => String((await ask(nodes[0]?.url ?? "", "SHOW server_version"))[0]?.["server_version"]),
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/**
 * Data folders of servers that are not started, all of one cluster: for those who start them themselves, as standbys of each other.
 * @param {string} base @param {readonly string[]} names @param {Readonly<Record<string, string>>} settings @param {string} network whose hosts may come in, as pg_hba.conf writes it
 */
export async function makeCopies(base, names, settings, network = "127.0.0.1/32") {
  mkdirSync(base, { recursive: true });
  if (isRoot) chownSync(base, NOBODY, NOBODY);
  const [first = "", ...others] = names.map((name) => path.join(base, name));
  await initialise(first, base, settings, false);
  const rules = [
    "local all all trust",
    `host all postgres ${network} trust`,
    `host replication postgres ${network} trust`,
  ];
  writeFileSync(path.join(first, "pg_hba.conf"), `${rules.join("\n")}\n`);
  for (const other of others) runCommand("cp", ["-a", first, other]);
}

/** The command that starts one of them. @param {string} data @param {number} port @returns {string[]} */
export function serverCommand(data, port) {
  return asNobody(`${BIN}/postgres`, ["-D", data, "-p", `${port}`]);
}

/** @param {string} data @param {string} base @param {Readonly<Record<string, string>>} settings @param {boolean} tls */
async function initialise(data, base, settings, tls) {
  runCommand("cp", ["-a", path.join(await template(), "data"), data]);
  const all = {
    shared_preload_libraries: "pg_stat_statements",
    unix_socket_directories: base,
    wal_keep_size: "64MB",
    hot_standby: "on",
    ...(tls ? { ssl: "on", ...makeCertificate(base) } : {}),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  appendFileSync(path.join(data, "postgresql.conf"), lines.join(""));
  const rules = [
    "local all all trust",
    "host all postgres 127.0.0.1/32 trust",
    "host replication postgres 127.0.0.1/32 trust",
    "host all all 127.0.0.1/32 scram-sha-256",
  ];
  writeFileSync(path.join(data, "pg_hba.conf"), `${rules.join("\n")}\n`);
}

/**
 * The folder that initdb has made once: to copy it takes a tenth of the time. So all have one system identifier, by which nothing here tells servers apart.
 * @returns {Promise<string>}
 */
async function template() {
  const { stdout } = spawnSync(`${BIN}/postgres`, ["--version"], { encoding: "utf8" });
  const made = createHash("sha256").update([stdout, process.getuid?.() ?? "", ...INITDB].join(" "));
  return await cached(`postgres-data-${made.digest("hex").slice(0, 12)}`, async (folder) => {
    // Its own user, who must own the files, does not reach the cache of this one.
    const { folder: aside, remove } = privateFolder("initdb");
    try {
      if (isRoot) chownSync(aside, NOBODY, NOBODY);
      const data = path.join(aside, "data");
      run("initdb", ["-D", data, ...INITDB]);
      runCommand("cp", ["-a", data, folder]);
    } finally {
      remove();
    }
  });
}

/** @param {string} base */
function makeCertificate(base) {
  const [key, cert] = [path.join(base, "server.key"), path.join(base, "server.crt")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"];
  runCommand("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...subject]);
  return { ssl_key_file: key, ssl_cert_file: cert };
}

/** @param {string} data @param {number} port of the primary @param {string} name */
function copy(data, port, name) {
  const from = `host=127.0.0.1 port=${port} user=postgres application_name=${name}`;
  run("pg_basebackup", ["-d", from, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
}

/** @param {string} data @param {string} base @param {number} port @param {string} name @param {Record<string, string>} env @returns {Promise<PostgresNode>} */
async function startNode(data, base, port, name, env) {
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  // Set behind setpriv: libfaketime leaves things behind that belong to the user that loads it first.
  const set = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  const [command = "", ...args] = asNobody("env", [...set, `${BIN}/postgres`, "-D", data, "-p", `${port}`]);
  const ready = async () => (await ask(url, "SELECT 1")).length === 1;
  const node = await launch({
    url,
    command,
    args,
    log: path.join(base, `${name}.log`),
    stopSignal: "SIGINT",
    ready,
  });
  /**
   * The postmaster, and then its children, which would go on serving without it. In this order: as long as it runs it may start one that nobody has seen.
   * @param {NodeJS.Signals} [then] what all of them get when they are stopped
   */
  const stopAll = (then) => {
    trySignal(node.pid, "SIGSTOP");
    untilStopped(node.pid);
    const all = [node.pid, ...childrenOf(node.pid)];
    for (const pid of all) trySignal(pid, "SIGSTOP");
    if (then !== undefined) for (const pid of all) trySignal(pid, then);
    return all;
  };
  return {
    url,
    log: node.log,
    get pid() {
      return node.pid;
    },
    kill: async () => {
      const all = stopAll("SIGKILL");
      await node.kill();
      await untilGone(all);
    },
    stop: () => node.stop(),
    pause: () => stopAll(),
    resume: () => stopAll("SIGCONT"),
    restart: (options) => node.restart(options),
    promote: async () => void (await ask(url, "SELECT pg_promote(true)")),
  };
}

const GONE_WITHIN_MS = 10_000;

/** On a busy machine a killed backend lives for a moment longer than its postmaster, and no other can start beside it. @param {readonly number[]} pids */
async function untilGone(pids) {
  const givenUpAt = performance.now() + GONE_WITHIN_MS;
  while (pids.some((pid) => !/^Z?$/.test(statOf(`${pid}`)[0] ?? ""))) {
    if (performance.now() > givenUpAt) throw new Error(`of the processes ${pids.join(", ")} one does not end`);
    await sleep(5);
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function trySignal(pid, signal) {
  try {
    signalTo(pid, signal);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // It has ended meanwhile.
  }
}

/** @param {number} parent @returns {number[]} */
function childrenOf(parent) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(`${pid}`)[1] === `${parent}`);
}

/** @param {string} url @param {string} sql @returns {Promise<Record<string, unknown>[]>} */
async function ask(url, sql) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** @param {string} command @param {readonly string[]} args @returns {string[]} */
function asNobody(command, args) {
  return isRoot
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", command, ...args]
    : [command, ...args];
}

/** @param {string} program @param {readonly string[]} args */
function run(program, args) {
  const [command = "", ...rest] = asNobody(`${BIN}/${program}`, args);
  runCommand(command, rest);
}

/** @param {string} command @param {readonly string[]} args */
function runCommand(command, args) {
  const [program = "", ...rest] = isRoot && command === "openssl" ? asNobody(command, args) : [command, ...args];
  const { status, stderr, error } = spawnSync(program, rest, { encoding: "utf8", cwd: "/" });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}${error?.message ?? ""}`);
}
