// @ts-check
// `kubernetes:` on the API server of this repository, beside the fewest correct requests on bare node:http: locks taken and given back, leaderships held, leaders that leave or
// crash. Requests are those that the server counts. That server is a program of Node on the same machine, and keeps no promise of speed: the numbers compare ours with the
// fewest requests there, and say how many requests are made. They do not say what a real API server takes.
//
// There is no peer from npm to stand beside: none of those that elect on Leases notices a watch that goes silent, or has a deadline.
import { Agent, request } from "node:http";
import { createCandidate } from "conclave";
import { kubernetes } from "conclave/stores/kubernetes";
import { leaving, nodeRecipe } from "./networked/failover.mjs";
import { importRows } from "./networked/import-beyond.mjs";
import { crashOurs, holdMany, killRun, SETTLE_MS } from "./networked/ours.mjs";
import { exitRows, EXTENT, lockRows } from "./networked/rows.mjs";
import { inTurns } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { control, NAMESPACE, start } from "../scripts/servers/kubernetes.mjs";

const TTL_MS = 15_000;
/** Each is renewed by a request of its own, so that there are fewer than elsewhere. */
const OURS = { store: "kubernetes", many: 100, ttlMs: TTL_MS };
const ANSWER_WITHIN_MS = 5_000;
const CRASH_TTL_MS = 2_000;
/** Silence as the taker counts it (ttl · (1 + 2ρ) and a grain), from the renewal that its watch told it. */
const CRASH_BOUND_MS = Math.ceil(CRASH_TTL_MS * 1.01 + 5 + CRASH_TTL_MS / 10);
const TITLES = {
  ours: "withLock",
  minimal: "the fewest correct requests on bare node:http (an update to take, one to give back)",
};

/** @typedef {{ url: string, server: string, count: () => Promise<Record<string, number>> }} Place */

export async function run() {
  /** @type {Record<string, unknown>} */
  const raw = {};
  const ran = await start();
  const place = { url: ran.urls[0] ?? "", server: ran.server, count: async () => (await control(ran.server)).counts };
  try {
    raw["kubernetes"] = await ran.version();
    const rows = [
      ...(await holdMany({ ...OURS, open: () => kubernetes(place.url), count: place.count }, raw)),
      ...(await locks(place, raw)),
      ...(await exits(place, raw)),
      ...(await crashOurs("kubernetes", place.url, CRASH_TTL_MS, CRASH_BOUND_MS, raw)),
      ...(await killRun("kubernetes", place.url, raw)),
      ...importRows("kubernetes"),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("kubernetes", raw);
    return rows;
  } finally {
    await ran.stop();
  }
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, server, count }, raw) {
  const candidate = createCandidate({ store: kubernetes(url), ttlMs: TTL_MS });
  const withLock = (/** @type {string} */ name) => candidate.withLock(name, async () => {});
  const all = { ours: withLock, minimal: bareLock(server) };
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  await candidate.close();
  raw["locks per second"] = { 1: one, 64: many };
  return [...lockRows("kubernetes", 1, one, TITLES, []), ...lockRows("kubernetes", 64, many, TITLES, [])];
}

/**
 * Remembers each Lease as it was last written. It does what no correct client can leave out: each request has a timeout, because a lost answer would be waited for for ever; each attempt is a holder
 * of its own, because after a lost answer nothing else tells whether it was applied; and the version of the write that took the Lease is read as a number, the token.
 * @param {string} server @returns {import("./networked/turns.mjs").Lock}
 */
function bareLock(server) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(server);
  /** @type {Map<string, { metadata: object, spec: Record<string, unknown> }>} */
  const leases = new Map();
  let attempts = 0;
  const send = (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
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

/** @param {Place} place @param {Record<string, unknown>} raw */
async function exits({ url, count }, raw) {
  const ours = await leaving(nodeRecipe("kubernetes", url, "leaving", 60_000), { count, settleMs: SETTLE_MS });
  raw["leaves"] = ours;
  const inTurn = (/** @type {Readonly<Record<string, number>>} */ { update = 0, get = 0 }) => update + get;
  return exitRows("kubernetes, after a clean exit: conclave", ours, inTurn, "≤ 3");
}
