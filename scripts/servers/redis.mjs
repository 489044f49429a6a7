// @ts-check
// Redis: one server on loopback, or several that know nothing of each other, in memory only unless `args` say otherwise. CONCLAVE_REDIS_SERVER names another program than redis-server:
// that of Valkey, or of another version.
import { spawnSync } from "node:child_process";
import { createConnection } from "node:net";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

export const packages = ["redis-server"];

const ANSWERS_WITHIN_MS = 2_000;
/** A member of a cluster listens so far above its port, too. */
const CLUSTER_BUS = 10_000;
const PROGRAM = process.env["CONCLAVE_REDIS_SERVER"] ?? "redis-server";
/** Those that say what a server does. Not `problems`: other servers than this one do not start with a clock that can be set. */
const TESTS = ["conformance", "scripts", "redlock", "hints", "interop", "errors"].map(
  (name) => `test/stores/redis/${name}.test.ts`,
);

/**
 * Another server than Debian stable has, for `npm run test:newer`.
 * @param {string} name @param {string} suite @param {readonly string[]} packages @param {string} program
 * @returns {import("../test-newer.mjs").Newer}
 */
export function another(name, suite, packages, program) {
  const at = (/** @type {string} */ folder) => path.join(folder, "usr/bin", program);
  return {
    suite,
    packages,
    env: (folder) => ({ CONCLAVE_REDIS_SERVER: at(folder), ...librariesIn(folder) }),
    version: (folder) => {
      const env = { ...process.env, ...librariesIn(folder) };
      const { stdout } = spawnSync(at(folder), ["--version"], { encoding: "utf8", env });
      const version = /v=(\S+)/.exec(stdout ?? "")?.[1];
      if (version === undefined) throw new Error(`the ${name} that was fetched does not run here`);
      return version;
    },
    runs: [{ name, files: [...TESTS, "test/fencing/redis.test.ts"] }],
  };
}

/** Where the server finds those that were fetched with it. @param {string} folder @returns {Record<string, string>} */
function librariesIn(folder) {
  const top = path.join(folder, "usr/lib");
  const name = existsSync(top) ? readdirSync(top).find((each) => each.endsWith("-linux-gnu")) : undefined;
  if (name === undefined) return {};
  const libraries = path.join(top, name);
  return { LD_LIBRARY_PATH: libraries, LUA_CPATH: path.join(libraries, "lua/5.1/?.so") };
}

/** `clientAuth`: clients must show a certificate, as redis-server itself would have it. @typedef {{ cert: string, key: string, ca: string, clientAuth?: boolean }} Tls */

/**
 * @param {object} [options]
 * @param {string} [options.folder] of its log; a private one if not given
 * @param {number} [options.nodes]
 * @param {readonly string[]} [options.args] more of redis-server's options, for each
 * @param {Record<string, string>} [options.env] of the servers
 * @param {string} [options.password] that it asks for
 * @param {Tls} [options.tls] files: TLS is spoken, and nothing else
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({ folder, nodes: count = 1, args = [], env = {}, password, tls } = {}) {
  const own = folder === undefined ? privateFolder("redis") : undefined;
  const base = folder ?? own?.folder ?? "";
  const ports = await freePorts(count, args.includes("--cluster-enabled") ? CLUSTER_BUS : 0);
  const nodes = await Promise.all(ports.map((port) => launch(serverAt(port, base, { args, env, password, tls }))));
  return {
    urls: nodes.map(({ url }) => url),
    nodes,
    version: async () => versionIn(await ask(ports[0] ?? 0, "INFO server")),
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/**
 * @param {number} port @param {string} base
 * @param {{ args: readonly string[], env: Record<string, string>, password?: string | undefined, tls?: Tls | undefined }} options
 */
function serverAt(port, base, { args, env, password, tls }) {
  const folder = path.join(base, `${port}`);
  mkdirSync(folder, { recursive: true });
  const plain = ["--port", `${port}`];
  const secure = tls && [
    "--port",
    "0",
    "--tls-port",
    `${port}`,
    "--tls-cert-file",
    tls.cert,
    "--tls-key-file",
    tls.key,
  ];
  const auth = tls?.clientAuth === true ? "yes" : "no";
  const trust = tls === undefined ? [] : ["--tls-ca-cert-file", tls.ca, "--tls-auth-clients", auth];
  const memoryOnly = ["--dir", folder, "--save", "", "--appendonly", "no"];
  const secret = password === undefined ? [] : ["--requirepass", password];
  return {
    url: `${tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    command: PROGRAM,
    args: ["--bind", "127.0.0.1", ...(secure ?? plain), ...trust, ...memoryOnly, ...secret, ...args],
    env,
    log: path.join(folder, "redis.log"),
    ready: async () => {
      if (tls !== undefined) return await canConnect(port);
      return /^\+PONG|NOAUTH/.test(await ask(port, "PING"));
    },
  };
}

/** Valkey also says which Redis it is like. @param {string} info */
function versionIn(info) {
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
  return valkey === undefined ? (/^redis_version:(\S+)/m.exec(info)?.[1] ?? "") : `(Valkey) ${valkey}`;
}

/** @param {number} port @returns {Promise<boolean>} */
function canConnect(port) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: "127.0.0.1", port }, () => resolve(socket.destroy() !== undefined));
    socket.on("error", reject);
  });
}

/** One command without arguments that need quoting, on a connection that the server closes after it. @param {number} port @param {string} command @returns {Promise<string>} */
function ask(port, command) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    let said = "";
    socket.setEncoding("utf8").setTimeout(ANSWERS_WITHIN_MS, () => socket.destroy(new Error("redis does not answer")));
    socket.on("data", (/** @type {string} */ text) => (said += text));
    socket.on("error", reject);
    socket.on("close", () => resolve(said));
    socket.write(`${command}\r\nQUIT\r\n`);
  });
}
