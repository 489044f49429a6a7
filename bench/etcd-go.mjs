// @ts-check
// `etcd:` beside Go's own client (clientv3/concurrency) on three members of etcd: what a candidate that waits sends, what 1,000 leaderships cost while they are
// held, how long a clean exit takes, locks one by one and 64 at once, and 10,000 names campaigned for at once. Each runs in a process of its own that is told
// the same commands; ours and Go's take turns. Messages are those that etcd counts, on all members together.
//
// Without Go (peers/go.mjs says what it needs) ours is measured alone. etcd is the newer one of `npm run test:newer` if it can be had.
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { nodeRecipe, takeOver } from "./networked/failover.mjs";
import { EXTENT, say } from "./networked/rows.mjs";
import { Told } from "./networked/told.mjs";
import { difference, wordsFor } from "./networked/turns.mjs";
import { buildGoPeer } from "./peers/go.mjs";
import { keepResults, percentile } from "./results/keep.mjs";
import { newer, start } from "../scripts/servers/etcd.mjs";
import { fetchPackages } from "../scripts/servers/private-apt.mjs";

const OBEDIENT = fileURLToPath(new URL("networked/obedient.mjs", import.meta.url));
const TTL_SECONDS = 10;
/** The next one has waited for longer than that when its turn comes: what it has proven at the beginning is of no use by then. */
const EXIT_TTL_SECONDS = 3;
const WAITERS = 10;
const HELD = 1_000;
const MANY = 10_000;
const WARM_MS = 5_000;
const QUIET_MS = 5_000;
/** After 1,000 were won: until then a runtime clears up behind that, and compiles what has run often. */
const HELD_QUIET_MS = EXTENT.heldMs;
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @typedef {import("./networked/rows.mjs").Row} Row */
/** @typedef {{ readonly spawn: () => Told, readonly recipe: (name: string) => import("./networked/failover.mjs").Recipe }} Side */
/** @typedef {{ readonly urls: readonly string[], readonly sides: Readonly<Record<string, Side>> }} Place */

export async function run() {
  useNewerEtcd();
  const go = buildGoPeer();
  if ("missing" in go) say(go.missing);
  const servers = await start({ nodes: 3 });
  try {
    const place = { urls: servers.urls, sides: sidesOf(servers.urls, "missing" in go ? undefined : go.program) };
    const version = await servers.version();
    const where = `3 × etcd ${version}`;
    const load = loadavg()[0] ?? 0;
    const seen = {
      waiters: await bySide(place, (side) => waiting(place, side)),
      held: await bySide(place, (side) => holding(place, side)),
      exits: await exits(place),
      locks: { 1: await locks(place, 1), 64: await locks(place, 64) },
      many: await bySide(place, many),
    };
    say(`load of the machine: ${load.toFixed(1)} at the beginning, ${(loadavg()[0] ?? 0).toFixed(1)} at the end`);
    if (process.env["BENCH_KEEP"] === "1") keepResults("etcd-go", { etcd: version, ...seen });
    return rowsOf(where, seen);
  } finally {
    await servers.stop();
    if ("remove" in go) go.remove();
  }
}

/** Debian stable has 3.4, which few run any more. */
function useNewerEtcd() {
  try {
    const folder = fetchPackages("etcd", newer, say);
    newer.version(folder);
    Object.assign(process.env, newer.env(folder));
  } catch (error) {
    say(`the etcd that is installed is taken: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @param {readonly string[]} urls @param {string | undefined} goProgram @returns {Record<string, Side>} */
function sidesOf(urls, goProgram) {
  const ours = `etcd://${urls.map((url) => new URL(url).host).join(",")}`;
  const ttlMs = EXIT_TTL_SECONDS * 1000;
  const conclave = {
    spawn: () => new Told(process.execPath, [OBEDIENT, ours]),
    recipe: (/** @type {string} */ name) => nodeRecipe("etcd", ours, name, ttlMs),
  };
  if (goProgram === undefined) return { conclave };
  const all = urls.join(",");
  const go = {
    spawn: () => new Told(goProgram, [all]),
    recipe: (/** @type {string} */ name) => {
      const args = [all, name, `${EXIT_TTL_SECONDS}`];
      return { command: goProgram, args, elected: /^elected$/m, leaves: /** @type {const} */ ("SIGTERM") };
    },
  };
  return { conclave, go };
}

/** @template T @param {Place} place @param {(side: Side, name: string) => Promise<T>} measure @returns {Promise<Record<string, T>>} */
async function bySide({ sides }, measure) {
  /** @type {Record<string, T>} */
  const seen = {};
  for (const [name, side] of Object.entries(sides)) seen[name] = await measure(side, name);
  return seen;
}

/** Messages that clients have sent so far, by method; what members tell each other is not among them. @param {readonly string[]} urls */
async function countAll(urls) {
  /** @type {Record<string, number>} */
  const by = {};
  for (const url of urls) {
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const [, method = "", times] of text.matchAll(
      /^grpc_server_msg_received_total\{grpc_method="(\w+)",.*\} ([\d.e+]+)$/gm,
    ))
      by[method] = (by[method] ?? 0) + Number(times);
  }
  return by;
}

/** What is sent and spent in a stretch of time. @param {Place} place @param {Told} told @param {number} forMs */
async function during({ urls }, told, forMs) {
  const before = await countAll(urls);
  const [[cpu = 0], from] = [await told.tell("cpu"), performance.now()];
  await sleep(forMs);
  const [[cpuAfter = 0], spentMs] = [await told.tell("cpu"), performance.now() - from];
  const { by, total } = difference(before, await countAll(urls));
  return { perSecond: (total / spentMs) * 1000, sharePercent: ((cpuAfter - cpu) / 1000 / spentMs) * 100, by };
}

// ---- waiting

/** Behind an entry that stays, so that nothing but the waiters sends anything. @param {Place} place @param {Side} side */
async function waiting(place, side) {
  const name = `waited-${Math.random().toString(36).slice(2)}`;
  await placeEntry(place.urls[0] ?? "", `${name}/1`);
  const told = side.spawn();
  await told.tell(`wait ${name} ${WAITERS} ${TTL_SECONDS}`);
  await sleep(QUIET_MS);
  const seen = await during(place, told, EXTENT.waitingMs);
  await told.end();
  say(`${WAITERS} that wait, for ${EXTENT.waitingMs / 1000} s: ${wordsFor(seen.by)}`);
  return { ...seen, perSecond: seen.perSecond / WAITERS };
}

/** @param {string} url @param {string} key */
async function placeEntry(url, key) {
  const { ID } = await ask(url, "lease/grant", { TTL: 3600 });
  await ask(url, "kv/put", { key: base64(key), lease: ID });
}

/** Through the JSON gateway. @param {string} url @param {string} path @param {unknown} body @returns {Promise<any>} */
async function ask(url, path, body) {
  return await (await fetch(`${url}/v3/${path}`, { method: "POST", body: JSON.stringify(body) })).json();
}

/** @param {string} text */
function base64(text) {
  return Buffer.from(text).toString("base64");
}

// ---- holding

/** @param {Place} place @param {Side} side */
async function holding(place, side) {
  const told = side.spawn();
  await told.tell(`hold ${HELD} ${TTL_SECONDS + 5}`);
  await sleep(HELD_QUIET_MS);
  const seen = await during(place, told, EXTENT.heldMs);
  const [held = 0] = await told.tell("held");
  await told.tell("give");
  await told.end();
  say(`${HELD} held for ${EXTENT.heldMs / 1000} s: ${wordsFor(seen.by)}`);
  return { ...seen, lost: HELD - held };
}

/** All at once, and then long enough to lose them if renewals had to wait for something. @param {Side} side */
async function many(side) {
  const told = side.spawn();
  const [tookMs = 0] = await told.tell(`hold ${MANY} ${TTL_SECONDS}`);
  await sleep(2 * TTL_SECONDS * 1000);
  const [held = 0] = await told.tell("held");
  await told.tell("give");
  await told.end();
  return { tookMs, lost: MANY - held };
}

// ---- leaving, and locks

/** In turns. @param {Place} place */
async function exits({ urls, sides }) {
  /** @type {Record<string, number[]>} */
  const seen = {};
  for (let turn = 0; turn < EXTENT.exits / 5; turn++)
    for (const [side, { recipe }] of Object.entries(sides)) {
      const name = `leaving-${side}-${turn}`;
      const joined = () => twoStandFor(urls[0] ?? "", name);
      const options = { how: /** @type {const} */ ("leave"), rounds: 5, settleMs: EXIT_TTL_SECONDS * 1000, joined };
      (seen[side] ??= []).push(...(await takeOver(recipe(name), options)));
    }
  return seen;
}

/** @param {string} url @param {string} name */
async function twoStandFor(url, name) {
  const range = { key: base64(`${name}/`), range_end: base64(`${name}0`), count_only: true };
  while ((await ask(url, "kv/range", range)).count !== "2") await sleep(50);
}

/** @param {Place} place @param {number} names */
async function locks({ urls, sides }, names) {
  const told = Object.entries(sides).map(([name, side]) => ({ name, told: side.spawn() }));
  /** @type {Record<string, { rates: number[], cpuUs: number[], perLock: number[] }>} */
  const seen = {};
  for (const each of told) await each.told.tell(`lock ${names} ${WARM_MS}`);
  for (let turn = 0; turn < EXTENT.turns; turn++)
    for (const { name, told: process } of told) {
      const [before, [cpu = 0]] = [await countAll(urls), await process.tell("cpu")];
      const [times = 0, ms = 1] = await process.tell(`lock ${names} ${EXTENT.turnMs}`);
      const [[cpuAfter = 0], { total }] = [await process.tell("cpu"), difference(before, await countAll(urls))];
      const sum = (seen[name] ??= { rates: [], cpuUs: [], perLock: [] });
      sum.rates.push((times / ms) * 1000);
      sum.cpuUs.push((cpuAfter - cpu) / times);
      sum.perLock.push(total / times);
    }
  for (const each of told) await each.told.end();
  return seen;
}

// ---- rows

const NAMES = /** @type {Record<string, string>} */ ({ conclave: "conclave", go: "Go's client" });
/**
 * @typedef {object} Seen
 * @property {Record<string, { perSecond: number }>} waiters
 * @property {Record<string, { perSecond: number, sharePercent: number, lost: number }>} held
 * @property {Record<string, number[]>} exits
 * @property {Record<string, Awaited<ReturnType<typeof locks>>>} locks
 * @property {Record<string, { tookMs: number, lost: number }>} many
 */

/** @param {string} where @param {Seen} seen @returns {Row[]} */
function rowsOf(where, { waiters, held, exits, locks, many }) {
  const exitMs = mapped(exits, (samples) => percentile(samples, 0.5));
  const rates = mapped(locks, (seen) => mapped(seen, (each) => percentile(each.rates, 0.5)));
  const cpu = mapped(locks, (seen) => mapped(seen, (each) => percentile(each.cpuUs, 0.5)));
  const [waiting, exit, one, all] = [mapped(waiters, (each) => each.perSecond), exitMs, rates["1"], rates["64"]];
  const row = (/** @type {string} */ what, /** @type {Record<string, number>} */ by, unit = "", goal = "") =>
    Object.entries(by).map(([side, value]) => ({
      name: `${where}, ${what}: ${NAMES[side]}`,
      value,
      unit,
      goal: side === "conclave" ? goal : "",
    }));
  const ratio = (/** @type {string} */ what, /** @type {Record<string, number> | undefined} */ by, goal = "") =>
    by?.["go"] === undefined
      ? []
      : [
          {
            name: `${where}, ${what}: ours over Go's`,
            // In whole percents, because two windows are never equally long: as many messages are not 100.02 %.
            value: Math.round(((by["conclave"] ?? 0) / by["go"]) * 100),
            unit: "%",
            goal,
          },
        ];
  return [
    ...row(`a candidate that waits, ttl ${TTL_SECONDS} s`, waiting, "messages/s"),
    ...ratio("a candidate that waits", waiting, "≤ 100"),
    ...row(
      "1,000 held, messages",
      mapped(held, (each) => each.perSecond),
      "/s",
    ),
    ...row(
      "1,000 held, share of a core",
      mapped(held, (each) => each.sharePercent),
      "%",
      "≤ 0.2",
    ),
    ...row(
      "1,000 held, lost",
      mapped(held, (each) => each.lost),
      "",
      "≤ 0",
    ),
    ...row(`a clean exit, p50 of ${exits["conclave"]?.length ?? 0}`, exit, "ms"),
    ...ratio("a clean exit", exit, "≤ 200"),
    ...row("one lock at a time", one ?? {}, "locks/s"),
    ...ratio("one lock at a time", one),
    ...row("one lock at a time, processor time of the client for each", cpu["1"] ?? {}, "µs"),
    ...row("64 names", all ?? {}, "locks/s"),
    ...ratio("64 names", all, "≥ 100"),
    ...row(
      "10,000 names at once, won in",
      mapped(many, (each) => each.tookMs),
      "ms",
      "≤ 3000",
    ),
    ...row(
      "10,000 names at once, lost after two ttls",
      mapped(many, (each) => each.lost),
      "",
      "≤ 0",
    ),
  ];
}

/** @template T, U @param {Record<string, T>} by @param {(each: T) => U} change @returns {Record<string, U>} */
function mapped(by, change) {
  return Object.fromEntries(Object.entries(by).map(([name, each]) => [name, change(each)]));
}
