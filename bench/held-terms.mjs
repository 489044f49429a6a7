// @ts-check
// Ten thousand held terms of one candidate on memory:, over several renewals: share of a core, and memory over the same process without them.
import { setTimeout as sleep } from "node:timers/promises";
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";

const TERMS = 10_000;
const WATCH_MS = 20_000;

function megabytes() {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

export async function run() {
  const candidate = createCandidate({ store: memory(), ttlMs: 15_000 });
  await candidate.withLock("warm", async () => {});
  await sleep(200);
  const before = megabytes();
  const begun = performance.now();
  const terms = await Promise.all(
    Array.from({ length: TERMS }, (_, index) => candidate.election(`tenant/${index}`).campaign()),
  );
  const acquired = performance.now() - begun;
  await sleep(500);
  const after = megabytes();
  const cpu = process.cpuUsage();
  await sleep(WATCH_MS);
  const used = process.cpuUsage(cpu);
  if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
  const closing = performance.now();
  await candidate.close();
  return [
    {
      name: "10,000 held terms, share of a core",
      value: ((used.user + used.system) / 1000 / WATCH_MS) * 100,
      unit: "%",
      goal: "≤ 2",
    },
    { name: "10,000 held terms, memory", value: after - before, unit: "MB", goal: "≤ 40" },
    { name: "10,000 elections won in one go", value: acquired, unit: "ms", goal: "" },
    { name: "10,000 terms closed (drain 3000 ms included)", value: performance.now() - closing, unit: "ms", goal: "" },
  ];
}
