// @ts-check
// Kubernetes' own API server, with an etcd of its own, on loopback: authentication by tokens, RBAC, the watch cache, everything as in a cluster, without nodes and controllers.
// Tests talk to it through a relay that adds faults (api-front.mjs), or directly, over TLS.
//
// CONCLAVE_KUBE_APISERVER names the program: `npm run test:newer -- kubernetes` builds one. CONCLAVE_KUBE_APISERVER_ARGS has more arguments for it.
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as etcd from "./etcd.mjs";
import { freePorts, launch } from "./process.mjs";

const PROGRAM = process.env["CONCLAVE_KUBE_APISERVER"];
const MORE_ARGS = (process.env["CONCLAVE_KUBE_APISERVER_ARGS"] ?? "").split(" ").filter((arg) => arg !== "");

/** Who may do everything, and who may do nothing without a Role. */
export const ADMIN = "admin-token";
export const NOBODY = { user: "nobody-yet", token: "nobody-token" };

/** Whether tests stand on a real one. */
export const isReal = PROGRAM !== undefined && PROGRAM !== "";

/**
 * @param {string} base a folder
 * @param {string} namespace is made
 * @returns {Promise<{ front: string, server: string, ca: string, data: string, node: import("./process.mjs").ServerNode, stop: () => Promise<void> }>}
 *   `front`: the relay. `data`: what a backup of it is made of
 */
export async function startReal(base, namespace) {
  const data = path.join(base, "etcd");
  const store = await etcd.start({ folder: data, auth: false });
  const [etcdUrl = ""] = store.urls;
  const [port = 0, frontPort = 0] = await freePorts(2);
  const server = `https://127.0.0.1:${port}`;
  const api = await launch({
    url: server,
    command: PROGRAM ?? "",
    args: [...argsOf(base, port, etcdUrl), ...MORE_ARGS],
    log: path.join(base, "api-server.log"),
    ready: async () => (await askReal(server, "GET", "/readyz")).status === 200,
  });
  const made = await askReal(server, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  if (made.status !== 201 && made.status !== 409)
    throw new Error(`the namespace ${namespace} was not made: ${made.text}`);
  const front = await launch({
    url: `http://127.0.0.1:${frontPort}`,
    command: process.execPath,
    args: [
      fileURLToPath(new URL("api-front.mjs", import.meta.url)),
      JSON.stringify({ port: frontPort, server, token: ADMIN, etcd: etcdUrl }),
    ],
    log: path.join(base, "front.log"),
    ready: async () => (await fetch(`http://127.0.0.1:${frontPort}/version`)).ok,
  });
  const [member] = store.nodes;
  if (member === undefined) throw new Error("no etcd");
  return {
    front: front.url,
    server,
    ca: path.join(base, "certs/apiserver.crt"),
    data,
    node: both(api, member),
    stop: async () => {
      await Promise.all([front.kill(), api.kill()]);
      await store.stop();
    },
  };
}

/** The API server and its etcd as one: both are killed and started again. Only the API server is paused. @param {import("./process.mjs").ServerNode} api @param {import("./process.mjs").ServerNode} member @returns {import("./process.mjs").ServerNode} */
function both(api, member) {
  const { url, log, pause, resume } = api;
  return {
    url,
    log,
    get pid() {
      return api.pid;
    },
    pause,
    resume,
    kill: async () => void (await Promise.all([api.kill(), member.kill()])),
    stop: async () => {
      await api.kill(); // asked to end, it waits for every watch
      await member.stop();
    },
    restart: async (options) => {
      await api.kill();
      await member.restart();
      await api.restart(options);
    },
  };
}

/** @param {string} base @param {number} port @param {string} etcdUrl */
function argsOf(base, port, etcdUrl) {
  const [keys, tokens] = [path.join(base, "service-accounts.pem"), path.join(base, "tokens.csv")];
  mkdirSync(path.join(base, "certs"), { recursive: true });
  if (!existsSync(keys)) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    writeFileSync(keys, privateKey.export({ type: "pkcs1", format: "pem" }));
    writeFileSync(tokens, `${ADMIN},admin,admin,"system:masters"\n${NOBODY.token},${NOBODY.user},${NOBODY.user}\n`);
  }
  const flags = {
    "etcd-servers": etcdUrl,
    "bind-address": "127.0.0.1",
    "secure-port": `${port}`,
    "cert-dir": path.join(base, "certs"),
    "token-auth-file": tokens,
    "authorization-mode": "RBAC",
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": keys,
    "service-account-signing-key-file": keys,
    "service-cluster-ip-range": "10.0.0.0/24",
    "endpoint-reconciler-type": "none",
  };
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
}

/**
 * One request, as the administrator if no other token is given.
 * @param {string} server @param {string} method @param {string} at @param {unknown} [body] @param {string} [token]
 * @returns {Promise<{ status: number, text: string }>}
 */
export function askReal(server, method, at, body, token = ADMIN) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const options = { method, headers, rejectUnauthorized: false, timeout: 10_000, agent: false };
    const sent = request(`${server}${at}`, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.on("timeout", () => sent.destroy(new Error("no answer")));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
