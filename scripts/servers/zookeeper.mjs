// @ts-check
// ZooKeeper, one server or an ensemble, on loopback. The tick is 500 ms, so that sessions of two seconds can be had; its URLs say so. CONCLAVE_ZOOKEEPER_JARS names the folder with another version of it
// than the installed one; its libraries are those of the machine.
import { existsSync, mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

/** The server, and the candidates of others that stand beside ours: kazoo, Curator, and a compiler for a program that uses it. */
export const packages = [
  "libzookeeper-java",
  "default-jre-headless",
  "libslf4j-java",
  "python3-kazoo",
  "libcurator-recipes-java",
  "libcurator-framework-java",
  "libcurator-client-java",
  "ecj",
];

const NETTY = [
  "buffer",
  "codec",
  "common",
  "handler",
  "resolver",
  "transport",
  "transport-native-epoll",
  "transport-native-unix-common",
];
const INSTALLED = "/usr/share/java";
const OWN = process.env["CONCLAVE_ZOOKEEPER_JARS"] ?? INSTALLED;
/** The installed zookeeper-jute would come with the other version's own list of libraries, so the right one stands before it. The last ones are for TLS. */
const JARS = [
  ...["zookeeper-jute", "zookeeper"].map((name) => path.join(OWN, `${name}.jar`)),
  ...["slf4j-simple", ...NETTY.map((part) => `netty-${part}`)].map((name) => path.join(INSTALLED, `${name}.jar`)),
];
/** For a program that uses the server's own classes. */
export const classPath = JARS.join(":");
const JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms32m", "-Xmx192m", "-Djava.net.preferIPv4Stack=true"];
const ANSWERS_WITHIN_MS = 2_000;

/** Everything that runs on a real server of it. The candidates of Curator and kazoo are those of the machine. */
const TESTS = ["test/stores/zookeeper", "test/incidents/inner-cut.test.ts", "test/stonith/zookeeper.test.ts"];

/** @type {import("../test-newer.mjs").Newer} */
export const newer = {
  suite: "sid",
  packages: ["libzookeeper-java"],
  env: (folder) => ({ CONCLAVE_ZOOKEEPER_JARS: path.join(folder, INSTALLED) }),
  version: (folder) => {
    const jar = path.join(folder, INSTALLED, "zookeeper.jar");
    const version = /-(\d[\d.]*)\.jar$/.exec(existsSync(jar) ? readlinkSync(jar) : "")?.[1];
    if (version === undefined) throw new Error("the package that was fetched has no ZooKeeper");
    return version;
  },
  runs: [{ name: "zookeeper", files: TESTS }],
};

/** PEM files for clients; with clientAuth it asks for a certificate. */
/** @typedef {{ store: string, trust: string, clientAuth?: boolean }} Tls */

/**
 * @param {object} [options]
 * @param {number} [options.nodes]
 * @param {string} [options.folder] where the data goes; a private one if not given
 * @param {number} [options.tickMs]
 * @param {readonly string[]} [options.words] the words of four letters that are allowed, besides `srvr`
 * @param {Readonly<Record<string, string>>} [options.config] added to every server's
 * @param {Tls} [options.tls]
 * @param {(index: number) => { readonly host?: string, readonly prefix?: readonly string[] }} [options.place] where a server stands, if not beside the others:
 *   its address, and what its command is run through (`ip netns exec …`)
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({
  nodes: count = 1,
  folder,
  tickMs = 500,
  words = [],
  config = {},
  tls,
  place = () => ({}),
} = {}) {
  const own = folder === undefined ? privateFolder("zookeeper") : undefined;
  const base = folder ?? own?.folder ?? "";
  const ports = await freePorts(count * 4);
  const members = Array.from({ length: count }, (_, index) => {
    const { host = "127.0.0.1", prefix = [] } = place(index);
    const [client = 0, quorum = 0, election = 0, secure = 0] = ports.slice(index * 4);
    return { id: index + 1, folder: path.join(base, `n${index}`), prefix, host, client, quorum, election, secure };
  });
  const ensemble =
    count === 1 ? [] : members.map(({ id, host, quorum, election }) => `server.${id}=${host}:${quorum}:${election}`);
  const common = {
    tickTime: `${tickMs}`,
    initLimit: "20",
    syncLimit: "4",
    maxClientCnxns: "0",
    maxSessionTimeout: "120000",
    "admin.enableServer": "false",
    "4lw.commands.whitelist": ["srvr", ...words].join(","),
    ...config,
  };
  const nodes = await Promise.all(members.map((member) => startMember(member, common, ensemble, tls, tickMs, base)));
  const [first] = members;
  return {
    urls: nodes.map(({ url }) => url),
    nodes,
    version: async () =>
      /^Zookeeper version: (\d+\.\d+\.\d+)/im.exec(await ask(first?.host ?? "", first?.client ?? 0, "srvr"))?.[1] ?? "",
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/**
 * @param {{ id: number, folder: string, prefix: readonly string[], host: string, client: number, secure: number }} member
 * @param {Readonly<Record<string, string>>} common @param {readonly string[]} ensemble @param {Tls | undefined} tls @param {number} tickMs @param {string} base
 */
function startMember({ id, folder, prefix, host, client, secure }, common, ensemble, tls, tickMs, base) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "myid"), `${id}`);
  const settings = {
    ...common,
    dataDir: folder,
    clientPort: `${client}`,
    clientPortAddress: host,
    ...(tls === undefined ? {} : secureSettings(tls, host, secure)),
  };
  const file = path.join(folder, "zoo.cfg");
  const lines = [...Object.entries(settings).map(([key, value]) => `${key}=${value}`), ...ensemble];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const program = ["java", ...JAVA, "-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file];
  const [command = "", ...args] = [...prefix, ...program];
  const url =
    tls === undefined
      ? `zookeeper://${host}:${client}?tickMs=${tickMs}`
      : `zookeepers://${host}:${secure}?tickMs=${tickMs}`;
  const ready = async () => (await ask(host, client, "srvr")).includes("Mode: ");
  return launch({ url, command, args, log: path.join(base, `n${id - 1}.log`), ready });
}

/** @param {Tls} tls @param {string} host @param {number} port */
function secureSettings({ store, trust, clientAuth = false }, host, port) {
  return {
    secureClientPort: `${port}`,
    secureClientPortAddress: host,
    serverCnxnFactory: "org.apache.zookeeper.server.NettyServerCnxnFactory",
    "ssl.keyStore.location": store,
    "ssl.trustStore.location": trust,
    "ssl.clientAuth": clientAuth ? "need" : "none",
  };
}

/** The answer to a word of four letters. @param {string} host @param {number} port @param {string} word @returns {Promise<string>} */
export function ask(host, port, word) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port });
    let said = "";
    socket
      .setEncoding("utf8")
      .setTimeout(ANSWERS_WITHIN_MS, () => socket.destroy(new Error("zookeeper does not answer")));
    socket.on("data", (/** @type {string} */ text) => (said += text));
    socket.on("error", reject);
    socket.on("close", () => resolve(said));
    socket.write(word);
  });
}
