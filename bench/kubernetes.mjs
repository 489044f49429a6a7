// @ts-check
// `kubernetes:` on the API server of this repository, beside the fewest correct requests on a bare client: locks taken and given back, leaderships held, leaders that leave or
// crash. Requests are those that the server counts. That server is a program of Node on the same machine, and keeps no promise of speed: the numbers compare ours with the
// fewest requests there, and say how many requests are made. They do not say what a real API server takes.
//
// That is measured where one is given: with CONCLAVE_KUBE_APISERVER (as the tests have it, scripts/servers/api-server.mjs) everything is measured there as well, over TLS and with a
// token, and its requests are those of `apiserver_request_total`. Its rows have its version in their names.
//
// There is no peer from npm to stand beside: none of those that elect on Leases notices a watch that goes silent, or has a deadline.
import { readFileSync } from "node:fs";
import * as plain from "node:http";
import * as secure from "node:https";
import { createCandidate } from "conclave";
import { kubernetes } from "conclave/stores/kubernetes";
import { leaving, nodeRecipe } from "./networked/failover.mjs";
import { importRows } from "./networked/import-beyond.mjs";
import { crashOurs, holdMany, killRun, SETTLE_MS } from "./networked/ours.mjs";
import { exitRows, EXTENT, lockRows, say } from "./networked/rows.mjs";
import { inTurns } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { ADMIN, askReal, isReal } from "../scripts/servers/api-server.mjs";
import { control, NAMESPACE, start, urlOf } from "../scripts/servers/kubernetes.mjs";

const TTL_MS = 15_000;
/** Each is renewed by a request of its own, so that there are fewer than elsewhere. */
const MANY = 100;
const ANSWER_WITHIN_MS = 5_000;
const CRASH_TTL_MS = 2_000;
/** Silence as the taker counts it (ttl · (1 + 2ρ) and a grain), from the renewal that its watch told it. */
const CRASH_BOUND_MS = Math.ceil(CRASH_TTL_MS * 1.01 + 5 + CRASH_TTL_MS / 10);
const FEWEST = "(an update to take, one to give back)";

/** What a server calls its requests in its metrics, and what they are called here. */
const VERBS = { POST: "create", PUT: "update", GET: "get", LIST: "list" };

/** @typedef {Record<string, unknown>} Raw */
/** @typedef {{ name: string, url: string, bare: Bare, count: () => Promise<Record<string, number>> }} Place `name`: in the rows */
/** @typedef {{ server: string, ca?: Buffer, token?: string }} Bare where the bare client connects */

export async function run() {
  /** @type {Raw} */
  const raw = {};
  const rows = [...(await onOwn(raw))];
  if (isReal) rows.push(...(await onReal((raw["kube-apiserver"] = {}))));
  else say("CONCLAVE_KUBE_APISERVER names no API server of Kubernetes: only that of this repository is measured");
  rows.push(...importRows("kubernetes"));
  if (process.env["BENCH_KEEP"] === "1") keepResults("kubernetes", raw);
  return rows;
}

/** On the API server of this repository. @param {Raw} raw */
async function onOwn(raw) {
  const ran = await start({ real: false });
  try {
    const { server } = ran;
    const count = async () => (await control(server)).counts;
    raw["kubernetes"] = await ran.version();
    return await measured({ name: "kubernetes", url: ran.urls[0] ?? "", bare: { server }, count }, raw);
  } finally {
    await ran.stop();
  }
}

/** On Kubernetes' own, without the relay that tests have before it. @param {Raw} raw */
async function onReal(raw) {
  const ran = await start({ real: true });
  try {
    const config = readFileSync(ran.direct, "utf8");
    const [server = "", ca = ""] = ["server", "certificate-authority"].map((key) => valueIn(config, key));
    raw["kubernetes"] = await ran.version();
    const place = {
      name: `kubernetes (kube-apiserver ${String(raw["kubernetes"])})`,
      url: urlOf(ran.direct),
      bare: { server, ca: readFileSync(ca), token: ADMIN },
      count: () => countedBy(server),
    };
    return await measured(place, raw);
  } finally {
    await ran.stop();
  }
}

/** @param {string} config @param {string} key */
function valueIn(config, key) {
  return new RegExp(`^ *${key}: (\\S+)$`, "m").exec(config)?.[1];
}

/** Requests on Leases that the server has answered, by verb. A watch is counted when it ends, so it is left out. @param {string} server */
async function countedBy(server) {
  const { text } = await askReal(server, "GET", "/metrics");
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [, labels = "", value] of text.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const verb = VERBS[/** @type {keyof typeof VERBS} */ (/verb="(\w+)"/.exec(labels)?.[1] ?? "")];
    if (verb !== undefined && labels.includes('resource="leases"')) counts[verb] = (counts[verb] ?? 0) + Number(value);
  }
  return counts;
}

/** @param {Place} place @param {Raw} raw */
async function measured(place, raw) {
  const { name, url, count } = place;
  const open = () => kubernetes(url);
  return [
    ...(await holdMany({ store: name, many: MANY, ttlMs: TTL_MS, open, count }, raw)),
    ...(await locks(place, raw)),
    ...(await exits(place, raw)),
    ...(await crashOurs("kubernetes", url, CRASH_TTL_MS, CRASH_BOUND_MS, raw, name)),
    ...(await killRun(name, url, raw)),
  ];
}

/** @param {Place} place @param {Raw} raw */
async function locks({ name, url, bare, count }, raw) {
  const candidate = createCandidate({ store: kubernetes(url), ttlMs: TTL_MS });
  const withLock = (/** @type {string} */ lock) => candidate.withLock(lock, async () => {});
  const all = { ours: withLock, minimal: bareLock(bare) };
  const client = bare.server.startsWith("https:") ? "node:https" : "node:http";
  const titles = { ours: "withLock", minimal: `the fewest correct requests on bare ${client} ${FEWEST}` };
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  await candidate.close();
  raw["locks per second"] = { 1: one, 64: many };
  return [...lockRows(name, 1, one, titles, []), ...lockRows(name, 64, many, titles, [])];
}

/**
 * Remembers each Lease as it was last written. It does what no correct client can leave out: each request has a timeout, because a lost answer would be waited for for ever; each attempt is a holder
 * of its own, because after a lost answer nothing else tells whether it was applied; and the version of the write that took the Lease is read as a number, the token.
 * @param {Bare} bare @returns {import("./networked/turns.mjs").Lock}
 */
function bareLock({ server, ca, token }) {
  const { protocol, hostname, port } = new URL(server);
  const { Agent, request } = protocol === "https:" ? secure : plain;
  const agent = new Agent({ keepAlive: true, maxSockets: 16, ...(ca === undefined ? {} : { ca }) });
  const identity = token === undefined ? {} : { authorization: `Bearer ${token}` };
  /** @type {Map<string, { metadata: object, spec: Record<string, unknown> }>} */
  const leases = new Map();
  let attempts = 0;
  const send = (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const length = Buffer.byteLength(text);
      const headers = { "content-type": "application/json", "content-length": length, ...identity };
      const late = setTimeout(() => sent.destroy(new Error("no answer in time")), ANSWER_WITHIN_MS);
      const sent = request({ agent, hostname, port, method, path, headers }, (answer) => {
        let said = "";
        answer.setEncoding("utf8").on("data", (part) => (said += part));
        answer.on("error", reject);
        answer.on("end", () => {
          clearTimeout(late);
          if ((answer.statusCode ?? 500) < 300) resolve(JSON.parse(said));
          else reject(new Error(said));
        });
      });
      sent
        .on("error", (error) => {
          clearTimeout(late);
          reject(error);
        })
        .end(text);
    });
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
  return async (name) => {
    const lease = leases.get(name) ?? (await send("POST", path, { metadata: { name: `bare-${name}` }, spec: {} }));
    const at = `${new Date().toISOString().slice(0, -1)}000Z`;
    const mine = { holderIdentity: `bare_${++attempts}`, leaseDurationSeconds: 15, acquireTime: at, renewTime: at };
    const taken = await send("PUT", `${path}/bare-${name}`, { ...lease, spec: mine });
    if (!(BigInt(taken.metadata.resourceVersion) > 0n)) throw new Error("there is no token");
    const given = { ...mine, holderIdentity: "", leaseDurationSeconds: 1 };
    leases.set(name, await send("PUT", `${path}/bare-${name}`, { ...taken, spec: given }));
  };
}

/** @param {Place} place @param {Raw} raw */
async function exits({ name, url, count }, raw) {
  const ours = await leaving(nodeRecipe("kubernetes", url, "leaving", 60_000), { count, settleMs: SETTLE_MS });
  raw["leaves"] = ours;
  const inTurn = (/** @type {Readonly<Record<string, number>>} */ { update = 0, get = 0 }) => update + get;
  return exitRows(`${name}, after a clean exit: conclave`, ours, inTurn, "≤ 3");
}
