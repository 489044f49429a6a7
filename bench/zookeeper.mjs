// @ts-check
// `zookeeper:` on one real ZooKeeper, beside kazoo, Curator and the fewest requests that are correct, on the bare client: locks taken and given back, 1,000 leaderships held, and leaders
// that crash or leave. Everything in one run on one server; requests are those that the server counts (`srvr`), pings of the peers among them.
//
// The fewest correct requests make an entry of a line, list the line in the same round trip, and delete the entry. kazoo and Curator run in processes of their own.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createCandidate } from "conclave";
import { zookeeper } from "conclave/stores/zookeeper";
import { openBareZooKeeper } from "./networked/bare-zookeeper.mjs";
import { leaving, nodeRecipe } from "./networked/failover.mjs";
import { importRows } from "./networked/import-beyond.mjs";
import { crash, holdMany, killRun, SETTLE_MS } from "./networked/ours.mjs";
import { EXTENT, lockRows, timeRows } from "./networked/rows.mjs";
import { Told } from "./networked/told.mjs";
import { difference, forAWhile, WARM_MS } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { ask, start } from "../scripts/servers/zookeeper.mjs";

const TTL_MS = 15_000;
const OURS = { store: "zookeeper", many: 1_000, ttlMs: TTL_MS };
const CRASH_TTL_MS = 2_000;
/** ZooKeeper's own default. A renewal whose answer takes longer than half a tick proves nothing. */
const TICK_MS = 2_000;
/** For sessions of two seconds. The ensemble's leader ends sessions by the tick. */
const SHORT_TICK_MS = 500;
const TITLES = {
  ours: "withLock",
  minimal: "the fewest correct requests on the bare client",
  kazoo: "kazoo Lock",
  curator: "Curator InterProcessMutex",
};
const PEERS = ["kazoo", "curator"];
const peers = fileURLToPath(new URL("peers/", import.meta.url));
const JARS = [
  "curator-recipes",
  "curator-framework",
  "curator-client",
  "zookeeper",
  "zookeeper-jute",
  "guava",
  "slf4j-api",
  "slf4j-nop",
].map((name) => `/usr/share/java/${name}.jar`);

/** @typedef {{ url: string, hosts: string, java: readonly string[], count: () => Promise<Record<string, number>> }} Place */
/** @typedef {(names: number, ms: number) => Promise<{ ops: number, ms: number }>} Work */

export async function run() {
  /** @type {Record<string, unknown>} */
  const raw = {};
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-curator-"));
  execFileSync("ecj", [
    "-17",
    "-nowarn",
    "-proc:none",
    "-cp",
    JARS.join(":"),
    "-d",
    folder,
    path.join(peers, "Curator.java"),
  ]);
  try {
    const rows = [
      ...(await onServer(TICK_MS, folder, async (place, version) => {
        raw["zookeeper"] = version;
        const { url, count } = place;
        return [
          ...(await holdMany({ ...OURS, open: () => zookeeper(url), count }, raw)),
          ...(await locks(place, raw)),
          ...(await exits(place, raw)),
          ...(await killRun("zookeeper", url, raw)),
        ];
      })),
      ...(await onServer(SHORT_TICK_MS, folder, (place) => crashes(place, raw))),
      ...importRows("zookeeper"),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("zookeeper", raw);
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @template T
 * @param {number} tickMs @param {string} folder of Curator's class @param {(place: Place, version: string) => Promise<T>} measure @returns {Promise<T>}
 */
async function onServer(tickMs, folder, measure) {
  const servers = await start({ tickMs });
  const url = servers.urls[0] ?? "";
  const { hostname, port, host } = new URL(url);
  const count = async () => {
    const said = await ask(hostname, Number(port), "srvr");
    return { requests: Number(/^Received: (\d+)$/m.exec(said)?.[1]) };
  };
  const java = ["-cp", [folder, ...JARS].join(":"), "Curator", host];
  try {
    return await measure({ url, hosts: host, java, count }, await servers.version());
  } finally {
    await servers.stop();
  }
}

// ---- locks

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, hosts, java, count }, raw) {
  const store = zookeeper(url);
  const candidate = createCandidate({ store, ttlMs: TTL_MS });
  const bare = await openBareZooKeeper(url);
  const [kazoo, curator] = [new Told("/usr/bin/python3", [`${peers}kazoo-bench.py`, hosts]), new Told("java", java)];
  /** @type {Record<string, Work>} */
  const all = {
    ours: (names, ms) => forAWhile((name) => candidate.withLock(name, async () => {}), names, ms),
    minimal: (names, ms) => forAWhile(bare.lock, names, ms),
    kazoo: told(kazoo),
    curator: told(curator),
  };
  const one = await inTurns(all, 1, count);
  const many = await inTurns(all, 64, count);
  await candidate.close();
  await store.close();
  await bare.close();
  await kazoo.end();
  await curator.end();
  Object.assign(raw, { "locks per second": { 1: one, 64: many } });
  return [...lockRows("zookeeper", 1, one, TITLES, PEERS), ...lockRows("zookeeper", 64, many, TITLES, PEERS)];
}

/** @param {Told} peer @returns {Work} */
function told(peer) {
  return async (names, forMs) => {
    const [ops = 0, ms = 1] = await peer.tell(`lock ${names} ${forMs}`);
    return { ops, ms };
  };
}

/** @param {Record<string, Work>} all @param {number} names @param {Place["count"]} count */
async function inTurns(all, names, count) {
  /** @type {Record<string, { ops: number, ms: number, requests: number, rates: number[] }>} */
  const seen = {};
  for (const [kind, work] of Object.entries(all)) {
    seen[kind] = { ops: 0, ms: 0, requests: 0, rates: [] };
    await work(names, WARM_MS);
  }
  for (let turn = 0; turn < EXTENT.turns; turn++)
    for (const [kind, work] of Object.entries(all)) {
      const before = await count();
      const { ops, ms } = await work(names, EXTENT.turnMs);
      const { total } = difference(before, await count());
      const sum = seen[kind] ?? { ops: 0, ms: 0, requests: 0, rates: [] };
      seen[kind] = {
        ops: sum.ops + ops,
        ms: sum.ms + ms,
        requests: sum.requests + total,
        rates: [...sum.rates, (ops / ms) * 1000],
      };
    }
  return Object.fromEntries(
    Object.entries(seen).map(([kind, { ops, ms, requests, rates }]) => [
      kind,
      { rate: (ops / ms) * 1000, perLock: requests / ops, rates },
    ]),
  );
}

// ---- leaders that leave, and leaders that crash

/** @param {Place} place @param {string} name @param {number} ttlMs @returns {Record<string, import("./networked/failover.mjs").Recipe>} */
function recipes({ url, hosts, java }, name, ttlMs) {
  const peer = { elected: /^elected$/m, leaves: /** @type {const} */ ("SIGTERM") };
  const args = [`/${name}`, `${ttlMs}`];
  return {
    conclave: nodeRecipe("zookeeper", url, `ours-${name}`, ttlMs),
    "kazoo Election": {
      command: "/usr/bin/python3",
      args: [`${peers}kazoo-bench.py`, hosts, `/kazoo${args[0]}`, `${ttlMs}`],
      ...peer,
    },
    "Curator LeaderLatch": { command: "java", args: [...java, `/curator${args[0]}`, `${ttlMs}`], ...peer },
  };
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function exits(place, raw) {
  /** @type {Record<string, Awaited<ReturnType<typeof leaving>>>} */
  const seen = {};
  for (const [kind, recipe] of Object.entries(recipes(place, "leaving", 60_000)))
    seen[kind] = await leaving(recipe, {
      count: place.count,
      settleMs: SETTLE_MS,
      rounds: kind === "conclave" ? EXTENT.exits : EXTENT.peerExits,
    });
  Object.assign(raw, { leaves: seen });
  return Object.entries(seen).flatMap(([kind, { samples }]) =>
    timeRows(`zookeeper, after a clean exit: ${kind}`, samples, ""),
  );
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes(place, raw) {
  /** @type {Record<string, number[]>} */
  const seen = {};
  for (const kind of Object.keys(recipes(place, "", CRASH_TTL_MS))) {
    const recipeOf = (/** @type {number} */ pair) => {
      const recipe = recipes(place, `crash-${pair}`, CRASH_TTL_MS)[kind];
      if (recipe === undefined) throw new Error(kind);
      return recipe;
    };
    seen[kind] = await crash(CRASH_TTL_MS, recipeOf, kind === "conclave" ? EXTENT.rounds : EXTENT.peerRounds);
  }
  Object.assign(raw, { crashes: seen });
  return Object.entries(seen).flatMap(([kind, samples]) =>
    timeRows(
      `zookeeper, after a crash, ttl ${CRASH_TTL_MS / 1000} s: ${kind}`,
      samples,
      kind === "conclave" ? `≤ ${CRASH_TTL_MS + SHORT_TICK_MS + 250}` : "",
    ),
  );
}
