// @ts-check
// Redis, one server on loopback, in memory only. For the example of a job queue: Conclave has no store in Redis.
import { createConnection } from "node:net";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

export const packages = ["redis-server"];

const ANSWERS_WITHIN_MS = 2_000;

/**
 * @param {object} [options]
 * @param {string} [options.folder] of its log; a private one if not given
 * @param {number} [options.nodes] there is one
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({ folder } = {}) {
  const own = folder === undefined ? privateFolder("redis") : undefined;
  const base = folder ?? own?.folder ?? "";
  const [port = 0] = await freePorts(1);
  const node = await launch({
    url: `redis://127.0.0.1:${port}`,
    command: "redis-server",
    args: ["--bind", "127.0.0.1", "--port", `${port}`, "--dir", base, "--save", "", "--appendonly", "no"],
    log: path.join(base, "redis.log"),
    ready: async () => (await ask(port, "PING")).startsWith("+PONG"),
  });
  return {
    urls: [node.url],
    nodes: [node],
    version: async () => /^redis_version:(\S+)/m.exec(await ask(port, "INFO server"))?.[1] ?? "",
    stop: async () => {
      await node.kill();
      own?.remove();
    },
  };
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
