// @ts-check
// A Kubernetes API server for elections, on loopback: the one of this folder (lease-server.mjs), since no real one is packaged; or a real one, where there is one
// (api-server.mjs, `npm run test:newer -- kubernetes`). Its kubeconfig is a file in its folder. With KUBECONFIG in the environment the conformance suite also runs
// against that cluster (test/stores/kubernetes/conformance.test.ts).
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ADMIN, isReal, startReal } from "./api-server.mjs";
import { freePorts, launch, privateFolder } from "./process.mjs";

export { newer } from "../newer-kubernetes.mjs";
/** @type {string[]} */
export const packages = [];

/** The namespace of tests. */
export const NAMESPACE = "elections";

/**
 * @typedef {import("./process.mjs").Servers & { kubeconfig: string, direct: string, server: string, data: string }} Started
 *   `direct`: a kubeconfig that leads to the server itself, where `kubeconfig` leads to a relay before it. `data`: what a backup of it is made of
 */

/**
 * @param {object} [options]
 * @param {number} [options.nodes] there is one
 * @param {string} [options.folder] where the objects are kept; a private one if not given
 * @param {{ cert: string, key: string, ca?: string, clientCert?: string, clientKey?: string }} [options.tls] files
 * @param {Record<string, string>} [options.tokens] bearer token → user
 * @param {Record<string, readonly string[]>} [options.rights]
 * @param {number} [options.bookmarkMs]
 * @param {string} [options.version] that it says it is
 * @param {boolean} [options.real] Kubernetes' own, or that of this folder; if not said, a real one where there is one
 * @returns {Promise<Started>}
 */
export async function start({ folder, tls, tokens, rights, bookmarkMs, version, real = isReal } = {}) {
  const own = folder === undefined ? privateFolder("kubernetes") : undefined;
  const base = folder ?? own?.folder ?? "";
  // Who is known by what is asked of the server of this folder alone: a real one has rules of its own for that (real.test.ts).
  if (real && tls === undefined && tokens === undefined) return await startRealIn(base, () => own?.remove());
  const [port = 0] = await freePorts(1);
  const server = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const kubeconfig = path.join(base, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigOf(server, tls, Object.keys(tokens ?? {})[0]));
  const namespaces = [NAMESPACE, "default"];
  const settings = {
    port,
    file: path.join(base, "leases.jsonl"),
    namespaces,
    tls,
    tokens,
    rights,
    bookmarkMs,
    version,
  };
  const node = await launch({
    url: server,
    command: process.execPath,
    args: [fileURLToPath(new URL("lease-server.mjs", import.meta.url)), JSON.stringify(settings)],
    log: path.join(base, "server.log"),
    ready: async () => (await ask(`${server}/version`)).includes("gitVersion"),
  });
  return {
    urls: [urlOf(kubeconfig)],
    kubeconfig,
    direct: kubeconfig,
    server,
    data: settings.file,
    nodes: [node],
    version: async () => `${JSON.parse(await ask(`${server}/version`)).gitVersion} (lease-server)`,
    stop: async () => {
      await node.kill();
      own?.remove();
    },
  };
}

/** @param {string} base @param {() => void} remove @returns {Promise<Started>} */
async function startRealIn(base, remove) {
  const { front, server, ca, data, node, stop } = await startReal(base, NAMESPACE);
  const [kubeconfig, direct] = [path.join(base, "kubeconfig"), path.join(base, "kubeconfig-direct")];
  writeFileSync(kubeconfig, kubeconfigOf(front, undefined, undefined));
  writeFileSync(direct, kubeconfigOf(server, { ca }, ADMIN));
  return {
    urls: [urlOf(kubeconfig)],
    kubeconfig,
    direct,
    server: front,
    data,
    nodes: [node],
    version: async () => JSON.parse(await ask(`${front}/version`)).gitVersion,
    stop: async () => {
      await stop();
      remove();
    },
  };
}

/** A store in the namespace of tests. @param {string} kubeconfig */
export function urlOf(kubeconfig) {
  return `kubernetes://${NAMESPACE}?kubeconfig=${encodeURIComponent(kubeconfig)}`;
}

/** As kubectl writes one. @param {string} server @param {{ ca?: string, clientCert?: string, clientKey?: string } | undefined} tls @param {string | undefined} token */
function kubeconfigOf(server, tls, token) {
  const user = [
    ...(token === undefined ? [] : [`    token: ${token}`]),
    ...(tls?.clientCert === undefined ? [] : [`    client-certificate: ${tls.clientCert}`]),
    ...(tls?.clientKey === undefined ? [] : [`    client-key: ${tls.clientKey}`]),
  ];
  return `apiVersion: v1
clusters:
- cluster:
${tls?.ca === undefined ? "" : `    certificate-authority: ${tls.ca}\n`}    server: ${server}
  name: tests
contexts:
- context:
    cluster: tests
    namespace: ${NAMESPACE}
    user: tester
  name: tests
current-context: tests
kind: Config
preferences: {}
users:
- name: tester
  user:${user.length === 0 ? " {}" : `\n${user.join("\n")}`}
`;
}

/** Orders a fault, or asks for counts. @param {string} server @param {object} [order] @returns {Promise<{ counts: Record<string, number>, watches: number, version: number }>} */
export async function control(server, order) {
  return JSON.parse(await ask(`${server}/control`, order));
}

/** Whatever certificate it shows. @param {string} url @param {object} [order] @returns {Promise<string>} */
async function ask(url, order) {
  const method = order === undefined ? "GET" : "POST";
  if (url.startsWith("http:")) {
    const body = order === undefined ? {} : { body: JSON.stringify(order) };
    const answer = await fetch(url, { method, ...body, signal: AbortSignal.timeout(5000) });
    return await answer.text();
  }
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, rejectUnauthorized: false, timeout: 5000 }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve(text));
    });
    sent.on("error", reject);
    sent.end(order === undefined ? undefined : JSON.stringify(order));
  });
}
