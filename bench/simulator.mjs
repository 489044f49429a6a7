// @ts-check
// Simulated events per second on one core, with all invariants on, over the worlds of the first seeds.
import { runSeed } from "conclave/simulator";

const SEEDS = 1500;

export async function run() {
  for (let seed = 1; seed <= 200; seed++) runSeed(seed);
  let events = 0;
  const begun = performance.now();
  for (let seed = 1; seed <= SEEDS; seed++) events += runSeed(seed).counts.events;
  const ms = performance.now() - begun;
  return [
    { name: "simulated events, all invariants on", value: (events / ms) * 1000, unit: "1/s", goal: "≥ 336000" },
    { name: "a world, from seed to verdict", value: ms / SEEDS, unit: "ms", goal: "" },
  ];
}
