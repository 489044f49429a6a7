// @ts-check
// Five hundred candidates that wait on one file of sqlite:, in five processes: the process that leads is killed with the hundred that are in it, from before
// the signal until the next candidate says that it leads. Each candidate has its own connection, session and socket.
import { percentile } from "./results/keep.mjs";
import { loadTypeScript } from "../scripts/load-typescript.mjs";

const ROUNDS = process.env["BENCH_QUICK"] === "1" ? 3 : 20;

export async function run() {
  /** @type {typeof import("../test/support/crowd.ts")} */
  const { killLeaders } = await loadTypeScript("test/support/crowd.ts");
  const { killedMs, errors, verdict } = await killLeaders({ processes: 5, candidates: 100, rounds: ROUNDS });
  const what = "500 that wait on one file, leader killed";
  return [
    { name: `${what}, p50 of ${killedMs.length}`, value: percentile(killedMs, 0.5), unit: "ms", goal: "" },
    { name: `${what}, longest`, value: Math.max(...killedMs), unit: "ms", goal: "≤ 250" },
    { name: `${what}: errors reported meanwhile`, value: errors, unit: "", goal: "≤ 0" },
    { name: `${what}: overlaps`, value: verdict.overlaps.length, unit: "", goal: "≤ 0" },
  ];
}
