// @ts-check
// Redis: one server on loopback, or several that know nothing of each other, in memory only unless `args` say otherwise.
import { createConnection } from "node:net";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

export const packages = ["redis-server"];

const ANSWERS_WITHIN_MS = 2_000;

/**
 * @param {object} [options]
 * @param {string} [options.folder] of its log; a private one if not given
 * @param {number} [options.nodes]
 * @param {readonly string[]} [options.args] more of redis-server's options, for each
 * @param {Record<string, string>} [options.env] of the servers
 * @param {string} [options.password] that it asks for
 * @param {{ cert: string, key: string, ca: string }} [options.tls] files: TLS is spoken, and nothing else
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({ folder, nodes: count = 1, args = [], env = {}, password, tls } = {}) {
  const own = folder === undefined ? privateFolder("redis") : undefined;
  const base = folder ?? own?.folder ?? "";
  const ports = await freePorts(count);
  const nodes = await Promise.all(ports.map((port) => launch(serverAt(port, base, { args, env, password, tls }))));
  return {
    urls: nodes.map(({ url }) => url),
    nodes,
    version: async () => /^redis_version:(\S+)/m.exec(await ask(ports[0] ?? 0, "INFO server"))?.[1] ?? "",
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/**
 * @param {number} port @param {string} base
 * @param {{ args: readonly string[], env: Record<string, string>, password?: string | undefined, tls?: { cert: string, key: string, ca: string } | undefined }} options
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
  const trust = tls === undefined ? [] : ["--tls-ca-cert-file", tls.ca, "--tls-auth-clients", "no"];
  const memoryOnly = ["--dir", folder, "--save", "", "--appendonly", "no"];
  const secret = password === undefined ? [] : ["--requirepass", password];
  return {
    url: `${tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`,
    command: "redis-server",
    args: ["--bind", "127.0.0.1", ...(secure ?? plain), ...trust, ...memoryOnly, ...secret, ...args],
    env,
    log: path.join(folder, "redis.log"),
    ready: async () => {
      if (tls !== undefined) return await canConnect(port);
      return /^\+PONG|NOAUTH/.test(await ask(port, "PING"));
    },
  };
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
