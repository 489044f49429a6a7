// @ts-check
// Takeovers on sqlite: between real processes: from before the signal that kills or stops the leader, or from the end of its work if it resigns, to the first
// write of the next one that a fence has admitted and SQLite has committed. A leader is stopped right after a renewal, when it is waited for longest.
import { keepResults, percentile } from "./results/keep.mjs";
import { loadTypeScript } from "../scripts/load-typescript.mjs";

const ROUNDS = 200;

export async function run() {
  /** @type {typeof import("../test/support/rounds.ts")} */
  const { takeOver } = await loadTypeScript("test/support/rounds.ts");
  const { samples, verdicts } = await takeOver({ rounds: ROUNDS, stopAt: "renewal", pairs: 2 });
  const overlaps = verdicts.flatMap((verdict) => verdict.overlaps);
  const { kill, stop, resign, early, again } = samples;
  if (process.env["BENCH_KEEP"] === "1")
    keepResults("takeover", { overlaps, early, again, samplesMs: { kill, stop, resign } });
  const row = (/** @type {string} */ what, /** @type {number[]} */ values, /** @type {string} */ goal) => [
    { name: `${what}, p50 of ${values.length}`, value: percentile(values, 0.5), unit: "ms", goal: "" },
    { name: `${what}, p99`, value: percentile(values, 0.99), unit: "ms", goal },
  ];
  return [
    ...row("takeover after SIGKILL", kill, "≤ 100"),
    ...row("takeover after SIGSTOP, over the ttl", stop, "≤ 100"),
    ...row("takeover after resignation", resign, "≤ 20"),
    { name: "overlaps in all of these", value: overlaps.length, unit: "", goal: "≤ 0" },
    { name: "stopped leaders that were not waited for", value: early, unit: "", goal: "≤ 0" },
  ];
}
