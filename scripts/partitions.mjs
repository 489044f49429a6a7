// @ts-check
// Partitions between real processes on real servers: a store is started, many members share many partitions, one is killed, one is stopped past its ttl and goes on, one is cut off from the server and
// comes back, then the controller is stopped, and the next one killed; judged from outside by what the members noted themselves (`conclave partitions demo`). Exit: 0 no partition was led twice on any
// store, and nothing moved but what the one had that was gone; 1 otherwise, 2 wrong usage.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as etcd from "./servers/etcd.mjs";
import * as kubernetes from "./servers/kubernetes.mjs";
import * as postgres from "./servers/postgres.mjs";
import * as zookeeper from "./servers/zookeeper.mjs";

const HELP = `Many processes share many partitions on real servers; judged from outside.

  npm run partitions -- [--members 20] [--partitions 10000] [--ttl 10s]
                        [--store etcd|postgres|zookeeper|kubernetes|sqlite]

Says for each member that was gone how long its partitions had no leader, beside the time that is
promised, and how many partitions of the others moved. With --members 5 --partitions 5000 a dead member
leaves 1,000 behind.
In Kubernetes there are 900 partitions if --partitions does not say otherwise: a group of it has 904 at
most.
Needs a build (npm run build). Exit: 0 no partition was led twice, and nothing moved but what a gone member had; 1 otherwise,
2 wrong usage.
`;

const PARTITIONS = "10000";
/** A Lease keeps few memos (docs/PARTITIONS.md). */
const PARTITIONS_IN_KUBERNETES = "900";
const command = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

const STARTS = {
  etcd: async () => {
    const servers = await etcd.start();
    return { url: `etcd://${new URL(servers.urls[0] ?? "").host}`, stop: () => servers.stop() };
  },
  postgres: async () => {
    const servers = await postgres.start();
    return { url: servers.urls[0] ?? "", stop: () => servers.stop() };
  },
  zookeeper: async () => {
    const servers = await zookeeper.start();
    return { url: servers.urls[0] ?? "", stop: () => servers.stop() };
  },
  kubernetes: async () => {
    const servers = await kubernetes.start();
    return { url: servers.urls[0] ?? "", stop: () => servers.stop() };
  },
  sqlite: async () => ({ url: undefined, stop: async () => {} }),
};

process.exitCode = await main();

async function main() {
  const text = /** @type {const} */ ({ type: "string" });
  const { values } = parseArgs({
    options: { members: text, partitions: text, ttl: text, store: text, help: { type: "boolean" } },
  });
  const { members = "20", partitions, ttl = "10s", store, help } = values;
  if (help === true) return tell(process.stdout, 0);
  const names = store === undefined ? Object.keys(STARTS) : [store];
  let failed = false;
  for (const name of names) {
    const start = STARTS[/** @type {keyof typeof STARTS} */ (name)];
    if (start === undefined) return tell(process.stderr, 2);
    const { url, stop } = await start();
    process.stdout.write(`${name}: `);
    const where = url === undefined ? [] : ["--store", url];
    const args = [
      command,
      "partitions",
      "demo",
      "--members",
      members,
      "--partitions",
      partitions ?? (name === "kubernetes" ? PARTITIONS_IN_KUBERNETES : PARTITIONS),
      "--ttl",
      ttl,
      ...where,
    ];
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    failed ||= status !== 0;
    await stop();
  }
  return failed ? 1 : 0;
}

/** @param {NodeJS.WriteStream} stream @param {number} code */
function tell(stream, code) {
  stream.write(HELP);
  return code;
}
