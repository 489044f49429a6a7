// @ts-check
// `etcd:` on one real etcd, beside etcd3 (npm), etcdctl, and the fewest requests that are correct, on the bare client: locks taken and given back, 1,000
// leaderships held, and leaders that crash or leave. Everything in one run on one server; requests are those that etcd itself counts (/metrics).
//
// etcd3's lock does not wait and has no order; its election keeps a line. `etcdctl` is a process a lock. Its elections have a ttl of 60 s that cannot be set.
import { spawn } from "node:child_process";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { Etcd3 } from "etcd3";
import { openBareEtcd } from "./networked/bare-etcd.mjs";
import { etcdctlRecipe, leaving, nodeRecipe, takeOver, together } from "./networked/failover.mjs";
import { held } from "./networked/held.mjs";
import { exitRows, EXTENT, heldRows, lockRows, say, timeRows } from "./networked/rows.mjs";
import { killRun } from "./networked/ours.mjs";
import { inTurns, wordsFor } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { start } from "../scripts/servers/etcd.mjs";

const HELD = 1_000;
const HELD_TTL_MS = 15_000;
const CRASH_TTL_MS = 2_000;
/** etcd looks for leases that have run out twice a second. */
const SCAN_MS = 500;
const SETTLE_MS = 1_500;
const MINIMAL = "Txn(create revision of the key = 0 → put with the lease), Txn(create revision = the token → delete)";
const TITLES = {
  ours: "withLock",
  minimal: "the fewest correct requests on the bare client",
  lock: "etcd3 lock",
  election: "etcd3 election",
  etcdctl: "etcdctl lock, a process each",
};

/** @typedef {{ url: string, ours: string, count: () => Promise<Record<string, number>> }} Place */

export async function run() {
  const servers = await start();
  const url = servers.urls[0] ?? "";
  /** @type {Place} */
  const place = { url, ours: `etcd://${new URL(url).host}`, count: () => countedAt(url) };
  try {
    /** @type {Record<string, unknown>} */
    const raw = { etcd: await servers.version() };
    const rows = [
      ...(await heldOnes(place, raw)),
      ...(await locks(place, raw)),
      ...(await exits(place, raw)),
      ...(await crashes(place, raw)),
      ...(await killRun("etcd", place.ours, raw)),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("etcd", raw);
    return rows;
  } finally {
    await servers.stop();
  }
}

/** Messages that etcd has received so far, by method; a stream has many. @param {string} url */
async function countedAt(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  /** @type {Record<string, number>} */
  const by = {};
  for (const [, method = "", times] of text.matchAll(
    /^grpc_server_msg_received_total\{grpc_method="(\w+)",.*\} ([\d.e+]+)$/gm,
  ))
    by[method] = (by[method] ?? 0) + Number(times);
  return by;
}

// ---- locks

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, ours, count }, raw) {
  const candidate = createCandidate({ store: etcd(ours), ttlMs: HELD_TTL_MS });
  const client = new Etcd3({ hosts: url });
  const bare = await bareClient(url);
  const theirs = {
    ours: (/** @type {string} */ name) => candidate.withLock(name, async () => {}),
    minimal: bare.lock,
    lock: async (/** @type {string} */ name) => {
      const lock = await client.lock(`etcd3-${name}`).ttl(15).acquire();
      await lock.release();
    },
    election: async (/** @type {string} */ name) => {
      const campaign = client.election(name, 15).campaign("x");
      await campaign.wait();
      await campaign.resign();
    },
  };
  say(`the fewest correct requests for a lock on etcd: ${MINIMAL}; the lease is granted once`);
  const { turns, turnMs } = EXTENT;
  const etcdctl = (/** @type {string} */ name) => runEtcdctl(url, name);
  const one = await inTurns({ ...theirs, etcdctl }, { names: 1, turns, turnMs, count });
  const many = await inTurns(theirs, { names: 64, turns, turnMs, count });
  await candidate.close();
  client.close();
  await bare.close();
  Object.assign(raw, { minimal: MINIMAL, locksPerSecond: { 1: one, 64: many } });
  const peers = ["lock", "election", "etcdctl"];
  return [...lockRows("etcd", 1, one, TITLES, peers), ...lockRows("etcd", 64, many, TITLES, peers)];
}

/** A lock with a lease and a token, and nothing else. @param {string} url */
async function bareClient(url) {
  const { signal, link: linked, close } = await openBareEtcd(url);
  const lease = 7_777_777n;
  await (await linked()).grantLease(lease, 3600, signal);
  return {
    lock: async (/** @type {string} */ name) => {
      const link = await linked();
      const key = Buffer.from(`minimal-${name}`);
      const put = { key, value: Buffer.alloc(0), lease };
      const taken = await link.txn({ compare: [{ key, createRevision: 0n }], success: [{ put }], failure: [] }, signal);
      const compare = [{ key, createRevision: taken.header.revision }];
      const given = await link.txn({ compare, success: [{ delete: { key } }], failure: [] }, signal);
      if (!taken.succeeded || !given.succeeded) throw new Error("somebody else has the key");
    },
    close: async () => {
      await (await linked()).revokeLease(lease, signal);
      close();
    },
  };
}

/** @param {string} url @param {string} name @returns {Promise<void>} */
function runEtcdctl(url, name) {
  return new Promise((resolve, reject) => {
    const args = [`--endpoints=${url}`, "lock", `etcdctl-${name}`, "true"];
    const child = spawn("etcdctl", args, { env: { ...process.env, ETCDCTL_API: "3" }, stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`etcdctl lock ended with ${code}`))));
  });
}

// ---- held

/** @param {Place} place @param {Record<string, unknown>} raw */
async function heldOnes({ url, ours, count }, raw) {
  const forMs = EXTENT.heldMs;
  const names = Array.from({ length: HELD }, (_, index) => `held-${index}`);
  const seen = await held({
    count,
    forMs,
    take: async () => {
      const candidate = createCandidate({ store: etcd(ours), ttlMs: HELD_TTL_MS, drainMs: 100 });
      const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
      return async () => {
        if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
        await candidate.close();
      };
    },
  });
  const peer = await held({
    count,
    forMs,
    take: async () => {
      const client = new Etcd3({ hosts: url });
      const campaigns = names.map((name) => client.election(name, HELD_TTL_MS / 1000).campaign("x"));
      await Promise.all(campaigns.map((campaign) => campaign.wait()));
      return async () => {
        await Promise.all(campaigns.map((campaign) => campaign.resign()));
        client.close();
      };
    },
  });
  say(`asked while 1,000 were held for ${forMs / 1000} s: by ours ${wordsFor(seen.by)}; by etcd3 ${wordsFor(peer.by)}`);
  Object.assign(raw, { held: { ours: seen, etcd3: peer } });
  return [
    ...heldRows(`etcd, 1,000 leaderships held, ttl ${HELD_TTL_MS / 1000} s`, seen),
    ...heldRows("etcd, 1,000 leaderships held, etcd3", peer),
  ];
}

// ---- leaders that leave, and leaders that crash

/**
 * What comes one after the other until the next one leads: giving back, and what the next one then asks. Its watches and the end of a lease that holds nothing
 * any more are waited for by nobody. etcd3 gives back by ending its lease. @param {Place} place @param {Record<string, unknown>} raw
 */
async function exits({ url, ours, count }, raw) {
  const options = { count, settleMs: SETTLE_MS };
  const seen = {
    conclave: await leaving(nodeRecipe("etcd", ours, "leaving", 60_000), options),
    etcd3: await leaving(nodeRecipe("etcd3", url, "leaving-etcd3", 60_000), options),
    "etcdctl elect": await leaving(etcdctlRecipe(url, "elect", "leaving-elect", "x"), options),
  };
  Object.assign(raw, { leaves: seen });
  return Object.entries(seen).flatMap(([kind, exits]) => {
    const inTurn = ({ Txn = 0, Range = 0, LeaseRevoke = 0 }) => Txn + Range + (kind === "etcd3" ? LeaseRevoke : 0);
    return exitRows(`etcd, after a clean exit: ${kind}`, exits, inTurn, kind === "conclave" ? "≤ 2" : "");
  });
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes({ url, ours }, raw) {
  const { pairs, rounds } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), rounds, settleMs: SETTLE_MS, phaseMs: CRASH_TTL_MS / 3 };
  const slow = takeOver(etcdctlRecipe(url, "elect", "crash-elect", "x"), { ...options, rounds: 1 });
  const seen = {
    ours: await together(pairs, (pair) => takeOver(nodeRecipe("etcd", ours, `crash-${pair}`, CRASH_TTL_MS), options)),
    etcd3: await together(pairs, (pair) => takeOver(nodeRecipe("etcd3", url, `crash3-${pair}`, CRASH_TTL_MS), options)),
    lock: await together(pairs, (pair) =>
      takeOver(etcdctlRecipe(url, "lock", `--ttl=${CRASH_TTL_MS / 1000}`, `crash-lock-${pair}`), options),
    ),
    elect: await slow,
  };
  Object.assign(raw, { crashes: seen });
  const what = `etcd, after a crash, ttl ${CRASH_TTL_MS / 1000} s:`;
  return [
    ...timeRows(`${what} conclave`, seen.ours, `≤ ${CRASH_TTL_MS + SCAN_MS}`),
    ...timeRows(`${what} etcd3`, seen.etcd3, ""),
    ...timeRows(`${what} etcdctl lock`, seen.lock, ""),
    ...timeRows("etcd, after a crash, etcdctl elect (its ttl is 60 s)", seen.elect, "").slice(0, 1),
  ];
}
