// @ts-check
// `redis:` on one real Redis, beside a published package of Redlock and the fewest commands that are correct, on bare ioredis: locks taken and given back, 1,000 leaderships held, and leaders
// that crash or leave. Everything in one run on one server; requests are those that the server counts (INFO commandstats), without those inside scripts.
//
// The fewest correct commands are SET NX PX and a script that deletes the key if it has our value. A lock by them has no session: each of 1,000 is renewed by itself.
// Not here: a crash under `conclave run`. Without tokens its keeper waits out the quiet period before it gives back (law 13), so there is nothing to measure.
import { Redlock } from "@sesamecare-oss/redlock";
import { createCandidate } from "conclave";
import { redis } from "conclave/stores/redis";
import { Redis } from "ioredis";
import { leaving, nodeRecipe, takeOver, together } from "./networked/failover.mjs";
import { held } from "./networked/held.mjs";
import { exitRows, EXTENT, heldRows, lockRows, say, timeRows } from "./networked/rows.mjs";
import { inTurns, wordsFor } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { start } from "../scripts/servers/redis.mjs";

const HELD = 1_000;
const TTL_MS = 15_000;
const CRASH_TTL_MS = 2_000;
/** The server frees the name when the ttl has run out, and a waiter looks then. */
const CRASH_BOUND_MS = CRASH_TTL_MS + 250;
const SETTLE_MS = 2_000;
const GIVE = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`;
const TITLES = {
  ours: "withLock",
  minimal: "the fewest correct commands on bare ioredis",
  redlock: "@sesamecare-oss/redlock",
};

/** @typedef {{ url: string, count: () => Promise<Record<string, number>> }} Place */

export async function run() {
  /** @type {Record<string, unknown>} */
  const raw = {};
  const servers = await start();
  const url = servers.urls[0] ?? "";
  const operator = new Redis(url);
  try {
    raw["redis"] = await servers.version();
    const place = { url, count: () => countedBy(operator) };
    const rows = [
      ...(await heldOnes(place, raw)),
      ...(await locks(place, raw)),
      ...(await exits(place, raw)),
      ...(await crashes(place, raw)),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("redis", raw);
    return rows;
  } finally {
    operator.disconnect();
    await servers.stop();
  }
}

/** Scripts as the one request that they are. What they call inside the server is counted there, too, so that the bare lock counts its own SET. @param {Redis} operator */
async function countedBy(operator) {
  const stats = await operator.info("commandstats");
  /** @type {Record<string, number>} */
  const all = {};
  for (const [, name = "", calls = "0"] of stats.matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)) all[name] = Number(calls);
  const { evalsha = 0, eval: evaluated = 0, subscribe = 0, unsubscribe = 0 } = all;
  return { evalsha, eval: evaluated, subscribe, unsubscribe, set: bareSets };
}

let bareSets = 0;

// ---- locks

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, count }, raw) {
  const store = redis(url);
  const candidate = createCandidate({ store, ttlMs: TTL_MS, unfenced: true });
  const [bare, peer] = [new Redis(url), new Redis(url)];
  const redlock = new Redlock([peer]);
  bare.defineCommand("give", { numberOfKeys: 1, lua: GIVE });
  const { give } = /** @type {{ give: (key: string, value: string) => Promise<number> }} */ (
    /** @type {unknown} */ (bare)
  );
  let bids = 0;
  const all = {
    ours: (/** @type {string} */ name) => candidate.withLock(name, async () => {}),
    minimal: async (/** @type {string} */ name) => {
      const bid = `bid.${++bids}`;
      bareSets++;
      const taken = await bare.set(name, bid, "PX", TTL_MS, "NX");
      const given = await give.call(bare, name, bid);
      if (taken !== "OK" || given !== 1) throw new Error("somebody else has the lock");
    },
    redlock: async (/** @type {string} */ name) => {
      const lock = await redlock.acquire([`redlock-${name}`], TTL_MS);
      await lock.release();
    },
  };
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  await candidate.close();
  await store.close();
  bare.disconnect();
  peer.disconnect();
  Object.assign(raw, { minimal: ["SET key bid NX PX", GIVE], "locks per second": { 1: one, 64: many } });
  return [...lockRows("redis", 1, one, TITLES, ["redlock"]), ...lockRows("redis", 64, many, TITLES, ["redlock"])];
}

// ---- held

/** @param {Place} place @param {Record<string, unknown>} raw */
async function heldOnes({ url, count }, raw) {
  const names = Array.from({ length: HELD }, (_, index) => `held-${index}`);
  const seen = await held({
    count,
    forMs: EXTENT.heldMs,
    take: async () => {
      const store = redis(url);
      const candidate = createCandidate({ store, ttlMs: TTL_MS, drainMs: 100, unfenced: true });
      const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
      return async () => {
        if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
        await candidate.close();
        await store.close();
      };
    },
  });
  say(`asked while 1,000 were held for ${EXTENT.heldMs / 1000} s: ${wordsFor(seen.by)}`);
  Object.assign(raw, { held: seen });
  return heldRows(`redis, 1,000 leaderships held, ttl ${TTL_MS / 1000} s`, seen);
}

// ---- leaders that leave, and leaders that crash

/** @param {Place} place @param {Record<string, unknown>} raw */
async function exits({ url, count }, raw) {
  const recipe = (/** @type {string} */ kind) => nodeRecipe(kind, url, `leaving-${kind}`, 60_000);
  const ours = await leaving(recipe("redis"), { count, settleMs: SETTLE_MS });
  const peer = await leaving(recipe("redlock"), { count, settleMs: SETTLE_MS });
  Object.assign(raw, { leaves: { ours, redlock: peer } });
  return [
    ...exitRows("redis, after a clean exit: conclave", ours, ({ evalsha = 0 }) => evalsha, ""),
    ...exitRows(
      "redis, after a clean exit: @sesamecare-oss/redlock (asks every 200 ms)",
      peer,
      ({ evalsha = 0 }) => evalsha,
      "",
    ),
  ];
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes({ url }, raw) {
  const { pairs, rounds } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), rounds, settleMs: SETTLE_MS, phaseMs: CRASH_TTL_MS / 3 };
  const rounded = (/** @type {string} */ kind) =>
    together(pairs, (pair) => takeOver(nodeRecipe(kind, url, `crash-${kind}-${pair}`, CRASH_TTL_MS), options));
  const seen = { ours: await rounded("redis"), redlock: await rounded("redlock") };
  Object.assign(raw, { crashes: seen });
  return [
    ...timeRows(`redis, after a crash, ttl ${CRASH_TTL_MS / 1000} s: conclave`, seen.ours, `≤ ${CRASH_BOUND_MS}`),
    ...timeRows(`redis, after a crash, ttl ${CRASH_TTL_MS / 1000} s: @sesamecare-oss/redlock`, seen.redlock, ""),
  ];
}
