// @ts-check
// Rows of the table from what was seen, the same for every store; and how long to measure: BENCH_QUICK=1 is for trying a change to a benchmark, not for numbers.
import { percentile } from "../results/keep.mjs";
import { wordsFor } from "./turns.mjs";

/** @typedef {{ name: string, value: number, unit: string, goal: string }} Row */

const isQuick = process.env["BENCH_QUICK"] === "1";

const QUICK = { turns: 2, turnMs: 500, heldMs: 6_000, waitingMs: 15_000, supervised: 2, pairs: 2, rounds: 2, exits: 5 };
const WHOLE = {
  turns: 6,
  turnMs: 1_500,
  heldMs: 20_000,
  waitingMs: 60_000,
  supervised: 20,
  pairs: 4,
  rounds: 5,
  exits: 20,
};

/** `peer…`: of those that ours is compared with, so that no file takes much longer than five minutes. */
export const EXTENT = isQuick ? { ...QUICK, peerRounds: 2, peerExits: 3 } : { ...WHOLE, peerRounds: 3, peerExits: 8 };

/** @typedef {Record<string, import("./turns.mjs").Seen>} AllSeen `ours`, `minimal`, and peers */

/**
 * @param {string} store @param {number} names @param {AllSeen} seen
 * @param {Record<string, string>} titles
 * @param {readonly string[]} peers those that do what ours does, or nearly: ours is to be ahead of them
 * @returns {Row[]}
 */
export function lockRows(store, names, seen, titles, peers) {
  const where = `${store}, ${names} name${names === 1 ? "" : "s"}`;
  return [...rateRows(where, seen, titles), ...ratioRows(`${where}: ours`, seen, "ours", titles, peers)];
}

/** @param {string} where @param {AllSeen} seen @param {Record<string, string>} titles @returns {Row[]} */
export function rateRows(where, seen, titles) {
  return Object.entries(seen).map(([kind, { rate, perLock }]) => ({
    name: `${where}: ${titles[kind] ?? kind} (${perLock.toFixed(perLock < 1 ? 2 : 1)} requests each)`,
    value: rate,
    unit: "locks/s",
    goal: "",
  }));
}

/**
 * @param {string} whose @param {AllSeen} seen @param {string} one whose it is
 * @param {Record<string, string>} titles @param {readonly string[]} peers that it is to be ahead of @returns {Row[]}
 */
export function ratioRows(whose, seen, one, titles, peers) {
  return Object.entries(seen)
    .filter(([kind]) => kind !== one)
    .map(([kind, { rate }]) => ({
      name: `${whose} over ${titles[kind] ?? kind}`,
      value: ((seen[one]?.rate ?? 0) / rate) * 100,
      unit: "%",
      goal: kind === "minimal" ? "≥ 80" : peers.includes(kind) ? "≥ 100" : "",
    }));
}

/** @param {string} what @param {readonly number[]} samples ms @param {string} goal of the longest @returns {Row[]} */
export function timeRows(what, samples, goal) {
  return [
    { name: `${what}, p50 of ${samples.length}`, value: percentile(samples, 0.5), unit: "ms", goal: "" },
    { name: `${what}, longest`, value: Math.max(...samples), unit: "ms", goal },
  ];
}

/** @param {string} what @param {Awaited<ReturnType<typeof import("./held.mjs").held>>} seen @returns {Row[]} */
export function heldRows(what, { perSecond, sharePercent, tookMs, lost }) {
  return [
    { name: `${what}: requests at the store`, value: perSecond, unit: "/s", goal: "" },
    { name: `${what}: share of a core`, value: sharePercent, unit: "%", goal: "" },
    { name: `${what}: won in`, value: tookMs, unit: "ms", goal: "" },
    ...(lost === undefined ? [] : [{ name: `${what}: lost`, value: lost, unit: "", goal: "≤ 0" }]),
  ];
}

/**
 * @param {string} what @param {import("./failover.mjs").Exits} exits
 * @param {(by: Readonly<Record<string, number>>) => number} inTurn how many of the requests wait for one another
 * @param {string} goal of these @returns {Row[]}
 */
export function exitRows(what, { samples, counts }, inTurn, goal) {
  const times = counts.map(inTurn);
  const middle = percentile(times, 0.5);
  say(`${what}: ${wordsFor(counts[times.indexOf(middle)] ?? {})}`);
  return [
    ...timeRows(what, samples, ""),
    { name: `${what}, round trips one after the other, giving back included`, value: middle, unit: "", goal },
  ];
}

/** What is worth saying and is no number. @param {string} line */
export function say(line) {
  process.stderr.write(`  ${line}\n`);
}
