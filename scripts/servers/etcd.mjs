// @ts-check
// etcd, one node or several, on loopback. `--pre-vote` is on: 3.4 leaves it off, and a node that comes back would depose a healthy leader.
// With CONCLAVE_ETCD_AUTH=1 in the environment it asks everybody who they are: ROOT may everything, APP may read and write keys.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

/** Files. With clientAuth etcd asks for a certificate, and `clientCert` and `clientKey` are what we show it. */
/** @typedef {{ ca: string, cert: string, key: string, clientAuth?: boolean, clientCert?: string, clientKey?: string }} Tls */

export const packages = ["etcd-server", "etcd-client"];

/** Users of an etcd that was started with authentication. */
export const ROOT = { name: "root", password: "root-word" };
export const APP = { name: "app", password: "app-word" };

const AUTH = { CONCLAVE_ETCD_AUTH: "1", ETCDCTL_USER: `${ROOT.name}:${ROOT.password}` };
const TESTS = [
  "test/stores/etcd",
  "test/clients/etcd",
  "test/fencing/etcd.test.ts",
  ...["herd-etcd", "middle-candidate-dies-etcd", "restored-backup"].map((name) => `test/incidents/${name}`),
];

/** @type {import("../test-newer.mjs").Newer} */
export const newer = {
  suite: "sid",
  packages,
  env: (folder) => ({ PATH: `${path.join(folder, "usr/bin")}:${process.env["PATH"]}` }),
  version: (folder) => {
    const { stdout } = spawnSync(path.join(folder, "usr/bin/etcd"), ["--version"], { encoding: "utf8" });
    const version = /^etcd Version: (\S+)/.exec(stdout ?? "")?.[1];
    if (version === undefined) throw new Error("the etcd that was fetched does not run here");
    return version;
  },
  runs: [
    { name: "etcd", files: TESTS },
    { name: "etcd with authentication", files: TESTS, env: AUTH },
    { name: "etcd with authentication,", files: TESTS, env: AUTH, installed: true },
  ],
};

/**
 * @param {object} [options]
 * @param {number} [options.nodes]
 * @param {string} [options.folder] where the data goes; a private one if not given
 * @param {Tls} [options.tls] files; for clients only
 * @param {readonly string[]} [options.args] added to every node's
 * @param {boolean} [options.auth] whether it asks who we are; if not given, as the environment says
 * @param {(index: number) => { readonly folder?: string, readonly host?: string, readonly prefix?: readonly string[] }} [options.place] where a node stands,
 *   if not beside the others: its folder, its address, and what its command is run through (`ip netns exec …`)
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({
  nodes: count = 1,
  folder,
  tls,
  args = [],
  auth = wantsAuth(tls),
  place = () => ({}),
} = {}) {
  const own = folder === undefined ? privateFolder("etcd") : undefined;
  const base = folder ?? own?.folder ?? "";
  const ports = await freePorts(count * 2);
  const scheme = tls === undefined ? "http" : "https";
  const members = Array.from({ length: count }, (_, index) => {
    const { folder = path.join(base, `n${index}`), host = "127.0.0.1", prefix = [] } = place(index);
    const client = `${scheme}://${host}:${ports[index * 2]}`;
    return { name: `n${index}`, folder, prefix, client, peer: `http://${host}:${ports[index * 2 + 1]}` };
  });
  const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(",");
  const flags = auth ? [...args, "--bcrypt-cost=4"] : args;
  const nodes = await Promise.all(members.map((member) => startMember(member, cluster, tls, flags, base)));
  const first = members[0]?.client ?? "";
  if (auth) await enableAuth(first);
  return {
    urls: members.map(({ client }) => client),
    ...(auth ? { user: APP } : {}),
    nodes,
    version: () => versionOf(first, tls),
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/**
 * @param {{ name: string, folder: string, prefix: readonly string[], client: string, peer: string }} member
 * @param {string} cluster @param {Tls | undefined} tls
 * @param {readonly string[]} more @param {string} base
 */
function startMember({ name, folder, prefix, client, peer }, cluster, tls, more, base) {
  mkdirSync(folder, { recursive: true });
  const secure = tls === undefined ? {} : { "cert-file": tls.cert, "key-file": tls.key };
  const mutual = tls?.clientAuth === true ? { "client-cert-auth": "true", "trusted-ca-file": tls.ca } : {};
  const flags = {
    name,
    "data-dir": path.join(folder, "data"),
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": cluster,
    "initial-cluster-token": base,
    "pre-vote": "true",
    logger: "zap",
    ...secure,
    ...mutual,
  };
  const settings = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const [command = "", ...args] = [...prefix, "etcd", ...settings, ...more];
  const ready = async () => (await ask(`${client}/health`, tls, undefined)).includes('"true"');
  return launch({ url: client, command, args, log: path.join(base, `${name}.log`), ready });
}

/** Who is known by a certificate needs no password. @param {Tls | undefined} tls */
function wantsAuth(tls) {
  return tls === undefined && process.env["CONCLAVE_ETCD_AUTH"] === "1";
}

/** @param {string} url */
async function enableAuth(url) {
  const everything = Buffer.of(0).toString("base64");
  const perm = { permType: "READWRITE", key: everything, range_end: everything };
  for (const [path, body] of /** @type {const} */ ([
    ["user/add", ROOT],
    ["user/grant", { user: ROOT.name, role: "root" }],
    ["user/add", APP],
    ["role/add", { name: "keys" }],
    ["role/grant", { name: "keys", perm }],
    ["user/grant", { user: APP.name, role: "keys" }],
    ["enable", {}],
  ])) {
    const said = await ask(`${url}/v3/auth/${path}`, undefined, JSON.stringify(body));
    if (said.includes('"error"') && !said.includes("already")) throw new Error(`etcd: auth/${path}: ${said}`);
  }
}

/** A path that asks nobody who they are. @param {string} url @param {Tls | undefined} tls */
async function versionOf(url, tls) {
  const { etcdserver } = /** @type {{ etcdserver: string }} */ (
    JSON.parse(await ask(`${url}/version`, tls, undefined))
  );
  return etcdserver;
}

/** @param {string} url @param {Tls | undefined} tls @param {string | undefined} body */
async function ask(url, tls, body) {
  if (tls !== undefined) return await askSecurely(url, tls, body);
  const options = body === undefined ? {} : { method: "POST", body };
  const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(1000) });
  return await answer.text();
}

/** @param {string} url @param {Tls} tls @param {string | undefined} body @returns {Promise<string>} */
async function askSecurely(url, tls, body) {
  const [ca, cert, key] = [tls.ca, tls.clientCert ?? tls.cert, tls.clientKey ?? tls.key].map((file) =>
    readFileSync(file),
  );
  return await new Promise((resolve, reject) => {
    const options = { method: body === undefined ? "GET" : "POST", ca, cert, key, timeout: 1000 };
    const sent = request(url, options, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve(text));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
