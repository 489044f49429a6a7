// @ts-check
// withLock on memory:, one after the other on one name, and 64 names at once; beside a bare promise-chain mutex, which excludes nobody but itself.
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";

const WARM = 2_000;
const ROUNDS = 20_000;

/** @param {(name: string) => Promise<unknown>} lock @param {number} names */
async function operationsPerSecond(lock, names) {
  const each = async (/** @type {number} */ index, /** @type {number} */ rounds) => {
    for (let round = 0; round < rounds; round++) await lock(`lock/${index}`);
  };
  const all = (/** @type {number} */ rounds) =>
    Promise.all(Array.from({ length: names }, (_, index) => each(index, Math.ceil(rounds / names))));
  await all(WARM);
  const begun = performance.now();
  await all(ROUNDS);
  return (ROUNDS / (performance.now() - begun)) * 1000;
}

function bareMutex() {
  /** @type {Map<string, Promise<unknown>>} */
  const tails = new Map();
  return (/** @type {string} */ name) => {
    const next = (tails.get(name) ?? Promise.resolve()).then(async () => {});
    tails.set(name, next);
    return next;
  };
}

export async function run() {
  const rows = [];
  for (const shape of /** @type {const} */ (["race", "line"])) {
    const candidate = createCandidate({ store: memory({ shape }), ttlMs: 15_000 });
    const lock = (/** @type {string} */ name) => candidate.withLock(name, async () => {});
    for (const names of [1, 64]) {
      const value = await operationsPerSecond(lock, names);
      rows.push({
        name: `withLock on memory: (${shape}), ${names} name${names === 1 ? "" : "s"}`,
        value,
        unit: "ops/s",
        goal: "",
      });
    }
    await candidate.close();
  }
  rows.push({
    name: "bare promise-chain mutex, 1 name",
    value: await operationsPerSecond(bareMutex(), 1),
    unit: "ops/s",
    goal: "",
  });
  return rows;
}
