// @ts-check
// Our own client of ZooKeeper, joined from src: it is not a part of the package's public names.
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";

const source = (/** @type {string} */ file) =>
  fileURLToPath(new URL(`../../src/clients/zookeeper/${file}.ts`, import.meta.url));

/**
 * A lock with a session and a token, and nothing else: the entry and the list in one round trip, then the entry is deleted. The client gives each request a timeout, as a lost answer demands; the
 * session keeps the entry for as long as it lives, and the number of the write that made the entry is the token. @param {string} url
 * @returns {Promise<{ lock: (name: string) => Promise<void>, close: () => Promise<void> }>}
 */
export async function openBareZooKeeper(url) {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-"));
  const input = { address: source("address"), client: source("client"), messages: source("messages") };
  await build({
    input,
    platform: "node",
    logLevel: "warn",
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs" },
  });
  const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(folder, `${name}.mjs`)).href);
  /** @type {typeof import("../../src/clients/zookeeper/address.ts")} */
  const { parseAddress } = await load("address");
  /** @type {typeof import("../../src/clients/zookeeper/client.ts")} */
  const { ZooKeeperClient } = await load("client");
  /** @type {typeof import("../../src/clients/zookeeper/messages.ts")} */
  const messages = await load("messages");
  const { createRequest, deleteRequest, getChildrenRequest, readChildren, readCreated } = messages;
  const { EPHEMERAL_SEQUENTIAL, OPEN_ACL, PERSISTENT } = messages;
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const session = await new ZooKeeperClient(parseAddress(url, ["tickMs"])).begin(60_000, signal);
  const empty = Buffer.alloc(0);
  /** @type {Map<string, Promise<unknown>>} */
  const parents = new Map();
  const make = (/** @type {string} */ node) =>
    session.ask(createRequest(node, empty, OPEN_ACL, PERSISTENT), readCreated, signal).catch((error) => {
      if (error.problem !== "node-exists") throw error;
    });
  return {
    lock: async (name) => {
      const parent = `/minimal-${name}`;
      if (!parents.has(parent)) parents.set(parent, make(parent));
      await parents.get(parent);
      const [made, line] = await Promise.all([
        session.ask(createRequest(`${parent}/e-`, empty, OPEN_ACL, EPHEMERAL_SEQUENTIAL), readCreated, signal),
        session.ask(getChildrenRequest(parent, false), readChildren, signal),
      ]);
      if (made.stat.czxid <= 0n) throw new Error("there is no token");
      if (line.names.length !== 1) throw new Error("somebody else stands in the line");
      await session.ask(deleteRequest(made.path), () => undefined, signal);
    },
    close: async () => {
      await session.end(signal);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
