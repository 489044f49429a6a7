// @ts-check
// Many leaderships held at once by one process: what the store is asked meanwhile, and what the process itself spends.
import { difference } from "./turns.mjs";

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** After the last one was won, so that what winning costs is over. */
const QUIET_MS = 5_000;

/**
 * @param {object} options
 * @param {() => Promise<() => Promise<unknown>>} options.take takes all, resolves to how to give them back; which may resolve to how many were lost by then
 * @param {number} options.forMs
 * @param {() => Promise<import("./turns.mjs").Counts>} options.count
 * @returns {Promise<{ perSecond: number, sharePercent: number, tookMs: number, lost: number | undefined, by: Readonly<Record<string, number>> }>}
 */
export async function held({ take, forMs, count }) {
  const begun = performance.now();
  const giveBack = await take();
  const tookMs = performance.now() - begun;
  await sleep(QUIET_MS);
  const before = await count();
  const [cpu, from] = [process.cpuUsage(), performance.now()];
  await sleep(forMs);
  const { user, system } = process.cpuUsage(cpu);
  const spentMs = performance.now() - from;
  const { by, total } = difference(before, await count());
  const said = await giveBack();
  const lost = typeof said === "number" ? said : undefined;
  const sharePercent = ((user + system) / 1000 / spentMs) * 100;
  return { perSecond: (total / spentMs) * 1000, sharePercent, tookMs, lost, by };
}
