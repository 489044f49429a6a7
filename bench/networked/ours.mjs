// @ts-check
// What is measured of ours alone, the same on every store that is reached over a network: leaderships held, a leader that crashes, `conclave run` killed. Each notes what
// was seen in `raw`, and returns the rows of the table.
import { createCandidate } from "conclave";
import { nodeRecipe, takeOver, together } from "./failover.mjs";
import { held } from "./held.mjs";
import { EXTENT, heldRows, say, timeRows } from "./rows.mjs";
import { canSupervise, supervised } from "./supervised.mjs";
import { wordsFor } from "./turns.mjs";

/** @typedef {Record<string, unknown>} Raw */
/** @typedef {import("./rows.mjs").Row} Row */

export const SETTLE_MS = 2_000;

/**
 * @param {object} options
 * @param {string} options.store its name
 * @param {() => import("conclave").FencedStore} options.open
 * @param {() => Promise<Record<string, number>>} options.count of requests, at the server
 * @param {number} options.many leaderships
 * @param {number} options.ttlMs
 * @param {Raw} raw
 */
export async function holdMany({ store, open, count, many, ttlMs }, raw) {
  const names = Array.from({ length: many }, (_, index) => `held-${index}`);
  const forMs = EXTENT.heldMs;
  const seen = await held({
    count,
    forMs,
    take: async () => {
      const opened = open();
      const candidate = createCandidate({ store: opened, ttlMs, drainMs: 100 });
      const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
      return async () => {
        const lost = terms.filter((term) => !term.isHeld()).length;
        await candidate.close();
        await opened.close();
        return lost;
      };
    },
  });
  const howMany = many.toLocaleString("en");
  say(`asked while ${howMany} were held for ${forMs / 1000} s: ${wordsFor(seen.by)}`);
  raw["held"] = seen;
  return heldRows(`${store}, ${howMany} leaderships held, ttl ${ttlMs / 1000} s`, seen);
}

/**
 * The leader of each of several pairs is killed, time and again. `recipe` is asked for each pair.
 * @param {number} ttlMs @param {(pair: number) => import("./failover.mjs").Recipe} recipe @param {number} [rounds] @returns {Promise<number[]>} ms
 */
export async function crash(ttlMs, recipe, rounds = EXTENT.rounds) {
  const { pairs } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), rounds, settleMs: SETTLE_MS, phaseMs: ttlMs / 3 };
  return await together(pairs, (pair) => takeOver(recipe(pair), options));
}

/** @param {string} store its name @param {string} url @param {number} ttlMs @param {number} boundMs @param {Raw} raw @param {string} [name] in the rows */
export async function crashOurs(store, url, ttlMs, boundMs, raw, name = store) {
  const samples = await crash(ttlMs, (pair) => nodeRecipe(store, url, `crash-${pair}`, ttlMs));
  raw["crashes"] = samples;
  return timeRows(`${name}, after a crash, ttl ${ttlMs / 1000} s: conclave`, samples, `≤ ${boundMs}`);
}

/** @param {string} store its name @param {string} url @param {Raw} raw @param {{ more?: string, goal?: string }} [options] `more`: what is said behind the row's name @returns {Promise<Row[]>} */
export async function killRun(store, url, raw, { more = "", goal = "≤ 250" } = {}) {
  if (!canSupervise()) {
    say("conclave run is not in this build: a crash under it is left out");
    return [];
  }
  const samples = await supervised(url, EXTENT.supervised);
  raw[`supervised${more}`] = samples;
  return timeRows(`${store}, conclave run killed, ttl 60 s, to the next command's first act${more}`, samples, goal);
}
