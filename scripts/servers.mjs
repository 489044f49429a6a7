// @ts-check
// Real servers for tests and for trying things out, from Debian's packages, on loopback, in private folders, on free ports.
//
//   npm run servers -- etcd [--nodes 3]    starts it, prints its version and URLs, stops it on Ctrl-C
//   npm run servers -- newer               fetches newer servers than Debian stable has, into a folder of their own, for `npm run test:newer`
//   npm run servers -- check               installs what is missing, starts each once and asks it its version; `npm test` begins with this
//
// Which servers there are, server-list.mjs reads from the records of the drivers.
import { parseArgs } from "node:util";
import { readServers, serverNamed } from "./server-list.mjs";
import { ensurePackages, TOOLS } from "./servers/packages.mjs";
import { fetchPackages } from "./servers/private-apt.mjs";

const HELP = `Real servers for tests and for trying things out, on loopback, in private folders, on free ports.

  npm run servers -- NAME [--nodes 3]    starts it, prints its version and URLs, stops it on Ctrl-C
  npm run servers -- newer               fetches newer servers than Debian stable has, for npm run test:newer
  npm run servers -- check               installs what the tests need, starts each once and asks it its version
`;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { nodes: { type: "string", default: "1" }, help: { type: "boolean", default: false } },
});

try {
  if (values.help) process.stdout.write(HELP);
  else await main(positionals[0] ?? "");
} catch (error) {
  process.stderr.write(`servers: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** @param {string} word */
async function main(word) {
  if (word === "check") return await check();
  if (word === "newer") return await fetchNewer();
  const name = await serverNamed(word);
  const server = (await readServers()).get(name);
  if (server === undefined) throw new Error(`${name} is not listed`);
  const nodes = Number(values.nodes);
  if (!Number.isSafeInteger(nodes) || nodes < 1) throw new Error(`--nodes ${values.nodes} is not a number of servers`);
  ensurePackages(server.packages);
  const running = await server.start({ nodes });
  process.stdout.write(`${name} ${await running.version()}\n${storeUrls(running.urls).join("\n")}\nCtrl-C stops it\n`);
  const idle = setInterval(() => {}, 1 << 30);
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
    process.once(signal, () => {
      clearInterval(idle);
      void running.stop();
    });
}

/**
 * As conclave takes them: the members of an etcd or of a ZooKeeper in one.
 * @param {readonly string[]} urls
 */
function storeUrls(urls) {
  if (urls.every((url) => url.startsWith("http://")))
    return [`etcd://${urls.map((url) => new URL(url).host).join(",")}`];
  if (!urls.every((url) => url.startsWith("zookeeper://"))) return urls;
  return [`zookeeper://${urls.map((url) => new URL(url).host).join(",")}${new URL(urls[0] ?? "").search}`];
}

async function fetchNewer() {
  for (const [name, { newer }] of await readServers()) {
    if (newer === undefined) continue;
    const folder = fetchPackages(name, newer);
    process.stdout.write(`${name} ${newer.version(folder)} in ${folder}\n`);
  }
}

async function check() {
  const servers = await readServers();
  ensurePackages([...TOOLS, ...[...servers.values()].flatMap(({ packages }) => packages)]);
  for (const [name, server] of servers) {
    const running = await server.start();
    process.stdout.write(`${name} ${await running.version()}\n`);
    await running.stop();
  }
}
