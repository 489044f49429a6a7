// @ts-check
// `redis:` on one real Redis, beside three published packages and the fewest commands that are correct, on bare ioredis: locks taken and given back, 1,000 leaderships held, and leaders
// that crash or leave. Everything in one run on one server; requests are those that the server counts (INFO commandstats), with a script as the one request that it is.
//
// The fewest correct commands are SET NX PX and a script that deletes the key if it has our value. A lock by them has no session: each of 1,000 is renewed by itself.
import { Redlock } from "@sesamecare-oss/redlock";
import { createCandidate } from "conclave";
import { redis } from "conclave/stores/redis";
import { Redis } from "ioredis";
import { Mutex } from "redis-semaphore";
// @ts-expect-error It has no types.
import Redlock4 from "redlock";
import { leaving, nodeRecipe, takeOver, together } from "./networked/failover.mjs";
import { held } from "./networked/held.mjs";
import { CORE, importBeyond } from "./networked/import-beyond.mjs";
import { exitRows, EXTENT, heldRows, rateRows, ratioRows, say, timeRows } from "./networked/rows.mjs";
import { canSupervise, supervised } from "./networked/supervised.mjs";
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
  oneKey: "withLock, layout redlock",
  minimal: "the fewest correct commands on bare ioredis",
  redlock: "redlock 4",
  sesame: "@sesamecare-oss/redlock",
  semaphore: "redis-semaphore",
};
/** They write one key for a lock, as ours does with the layout redlock. Our own layout keeps a session beside it, so that one renewal serves all names. */
const PEERS = /** @type {const} */ (["redlock", "sesame", "semaphore"]);

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
      ...(await keeper(place, raw)),
      ...imports(),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("redis", raw);
    return rows;
  } finally {
    operator.disconnect();
    await servers.stop();
  }
}

/** What scripts call inside the server is counted there, too: so a SET that is a request of its own is counted where it is sent. @param {Redis} operator */
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

/** A client whose SETs are counted. @param {string} url */
function countingSets(url) {
  const client = new Redis(url);
  const set = client.set.bind(client);
  Object.assign(client, {
    set: (/** @type {Parameters<typeof set>} */ ...args) => {
      bareSets++;
      return set(...args);
    },
  });
  return client;
}

/** @param {Redis} bare @returns {import("./networked/turns.mjs").Lock} */
function fewestCommands(bare) {
  bare.defineCommand("give", { numberOfKeys: 1, lua: GIVE });
  const { give } = /** @type {{ give: (key: string, value: string) => Promise<number> }} */ (
    /** @type {unknown} */ (bare)
  );
  let bids = 0;
  return async (name) => {
    const bid = `bid.${++bids}`;
    const taken = await bare.set(name, bid, "PX", TTL_MS, "NX");
    const given = await give.call(bare, name, bid);
    if (taken !== "OK" || given !== 1) throw new Error("somebody else has the lock");
  };
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, count }, raw) {
  const stores = [redis(url), redis(url, { layout: "redlock", prefix: "{one-key}" })];
  const candidates = stores.map((store) => createCandidate({ store, ttlMs: TTL_MS, unfenced: true }));
  const [candidate, oneKey] = /** @type {[typeof candidates[0], typeof candidates[0]]} */ (candidates);
  const clients = [countingSets(url), new Redis(url), new Redis(url), countingSets(url)];
  const [bare, first, second, third] = /** @type {[Redis, Redis, Redis, Redis]} */ (clients);
  const [four, sesame] = [new Redlock4([first]), new Redlock([second])];
  const all = {
    ours: (/** @type {string} */ name) => candidate.withLock(name, async () => {}),
    oneKey: (/** @type {string} */ name) => oneKey.withLock(`one-key-${name}`, async () => {}),
    minimal: fewestCommands(bare),
    redlock: async (/** @type {string} */ name) => await (await four.lock(`redlock-${name}`, TTL_MS)).unlock(),
    sesame: async (/** @type {string} */ name) => await (await sesame.acquire([`sesame-${name}`], TTL_MS)).release(),
    semaphore: async (/** @type {string} */ name) => {
      const mutex = new Mutex(third, name, { lockTimeout: TTL_MS });
      await mutex.acquire();
      await mutex.release();
    },
  };
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  for (const each of candidates) await each.close();
  for (const store of stores) await store.close();
  for (const client of clients) client.disconnect();
  Object.assign(raw, { minimal: ["SET key bid NX PX", GIVE], "locks per second": { 1: one, 64: many } });
  return [...rowsOf(1, one), ...rowsOf(64, many)];
}

/** @param {number} names @param {Record<keyof typeof TITLES, import("./networked/turns.mjs").Seen>} seen */
function rowsOf(names, seen) {
  const where = `redis, ${names} name${names === 1 ? "" : "s"}`;
  const { ours, oneKey, ...others } = seen;
  return [
    ...rateRows(where, seen, TITLES),
    ...ratioRows(`${where}: ours`, { ours, ...others }, "ours", TITLES, []),
    ...ratioRows(`${where}: ours, layout redlock,`, { oneKey, ...others }, "oneKey", TITLES, PEERS),
  ];
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

/** Of `candidate.mjs`, by their titles. */
const LEADERS = {
  redis: "conclave",
  redlock4: "redlock 4 (asks every 200 ms)",
  redlock: "@sesamecare-oss/redlock (asks every 200 ms)",
  semaphore: "redis-semaphore (asks every 10 ms)",
};

/** @param {Place} place @param {Record<string, unknown>} raw */
async function exits({ url, count }, raw) {
  const rows = [];
  for (const [kind, title] of Object.entries(LEADERS)) {
    const rounds = kind === "redis" ? EXTENT.exits : EXTENT.peerExits;
    const seen = await leaving(nodeRecipe(kind, url, `leaving-${kind}`, 60_000), {
      count,
      settleMs: SETTLE_MS,
      rounds,
    });
    raw[`leaves: ${kind}`] = seen;
    rows.push(...exitRows(`redis, after a clean exit: ${title}`, seen, ({ evalsha = 0 }) => evalsha, ""));
  }
  // How many wait for one another is known of ours alone: others ask all the time, and what they ask is counted with it.
  return rows.filter(({ name }) => name.includes("conclave") || !name.includes("round trips"));
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes({ url }, raw) {
  const { pairs } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), settleMs: SETTLE_MS, phaseMs: CRASH_TTL_MS / 3 };
  const rows = [];
  for (const [kind, title] of Object.entries(LEADERS)) {
    const recipe = (/** @type {number} */ pair) => nodeRecipe(kind, url, `crash-${kind}-${pair}`, CRASH_TTL_MS);
    const rounds = kind === "redis" ? EXTENT.rounds : EXTENT.peerRounds;
    const seen = await together(pairs, (pair) => takeOver(recipe(pair), { ...options, rounds }));
    raw[`crashes: ${kind}`] = seen;
    const goal = kind === "redis" ? `≤ ${CRASH_BOUND_MS}` : "";
    rows.push(...timeRows(`redis, after a crash, ttl ${CRASH_TTL_MS / 1000} s: ${title}`, seen, goal));
  }
  return rows;
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function keeper({ url }, raw) {
  if (!canSupervise()) {
    say("conclave run is not in this build: a crash under it is left out");
    return [];
  }
  const samples = await supervised(url, EXTENT.supervised, "60s", ["--unfenced"]);
  raw["supervised"] = samples;
  return timeRows("redis, conclave run killed, ttl 60 s, to the next command's first act", samples, "≤ 250");
}

function imports() {
  const what = "redis, import of the driver beyond ioredis";
  const driver = "stores/redis";
  return [
    { name: what, value: importBeyond([driver], ["ioredis"]), unit: "ms", goal: "≤ 10" },
    {
      name: `${what}, the core included`,
      value: importBeyond(["index", driver], ["ioredis"]),
      unit: "ms",
      goal: "",
    },
    { name: `${what} and the core`, value: importBeyond([driver], ["ioredis", CORE]), unit: "ms", goal: "" },
  ];
}
