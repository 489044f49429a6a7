// @ts-check
// Takes and gives back a lock as often as it can, ours and others in turns, so that whatever else the machine does meets all of them. Requests are counted
// where they arrive.

import { setTimeout as sleep } from "node:timers/promises";

/** @typedef {(name: string) => Promise<unknown>} Lock */
/** @typedef {Readonly<Record<string, number>>} Counts */
/** @typedef {{ rate: number, perLock: number, rates: number[] }} Seen rate and rates: locks a second; perLock: requests at the store */

/** Of each; cold code would be measured otherwise, and ours has the most of it. */
export const WARM_MS = 5_000;
/** Before a lock that failed is tried again. */
const FAILED_MS = 100;

/**
 * @template {string} K
 * @param {Record<K, Lock>} locks
 * @param {object} options
 * @param {number} options.names so many at once, each one after the other
 * @param {number} options.turns
 * @param {number} options.turnMs
 * @param {() => Promise<Counts>} options.count
 * @returns {Promise<Record<K, Seen>>}
 */
export async function inTurns(locks, { names, turns, turnMs, count }) {
  const kinds = /** @type {K[]} */ (Object.keys(locks));
  const seen = /** @type {Record<K, { ops: number, ms: number, requests: number, rates: number[] }>} */ ({});
  for (const kind of kinds) {
    seen[kind] = { ops: 0, ms: 0, requests: 0, rates: [] };
    await forAWhile(locks[kind], names, WARM_MS);
  }
  for (let turn = 0; turn < turns; turn++)
    for (const kind of kinds) {
      const before = await count();
      const { ops, ms } = await forAWhile(locks[kind], names, turnMs);
      const { total } = difference(before, await count());
      const sum = seen[kind];
      sum.ops += ops;
      sum.ms += ms;
      sum.requests += total;
      sum.rates.push((ops / ms) * 1000);
    }
  return /** @type {Record<K, Seen>} */ (
    Object.fromEntries(
      kinds.map((kind) => {
        const { ops, ms, requests, rates } = seen[kind];
        return [kind, { rate: (ops / ms) * 1000, perLock: requests / ops, rates }];
      }),
    )
  );
}

/**
 * A lock that fails is said and not counted: on a busy machine a connection may be lost, and a term. If none succeeds there is nothing to measure.
 * @param {Lock} lock @param {number} names @param {number} forMs
 */
export async function forAWhile(lock, names, forMs) {
  let ops = 0;
  let failures = 0;
  /** @type {unknown} */
  let last;
  const begun = performance.now();
  const one = async (/** @type {number} */ index) => {
    while (performance.now() - begun < forMs)
      try {
        await lock(`lock-${index}`);
        ops++;
      } catch (error) {
        failures++;
        last = error;
        await sleep(FAILED_MS);
      }
  };
  await Promise.all(Array.from({ length: names }, (_, index) => one(index)));
  if (ops === 0) throw new Error("no lock was had", { cause: last });
  if (failures > 0) process.stderr.write(`  ${failures} locks failed beside ${ops}: ${String(last)}\n`);
  return { ops, ms: performance.now() - begun };
}

/** What came in between. @param {Counts} before @param {Counts} after */
export function difference(before, after) {
  /** @type {Record<string, number>} */
  const by = {};
  for (const [what, times] of Object.entries(after)) {
    const more = times - (before[what] ?? 0);
    if (more > 0) by[what] = more;
  }
  return { by, total: Object.values(by).reduce((sum, more) => sum + more, 0) };
}

/** @param {Counts} by */
export function wordsFor(by) {
  const words = Object.entries(by).map(([what, times]) => `${times} ${what}`);
  return words.length === 0 ? "none" : words.join(", ");
}
