// @ts-check
// Raw samples beside the table: one JSON file a measurement, with the machine and how busy it was when it began.
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

const loadAtStart = loadavg()[0] ?? 0;

/** @param {string} name @param {Record<string, unknown>} results */
export function keepResults(name, results) {
  const head = {
    day: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
    load: Number(loadAtStart.toFixed(2)),
  };
  const text = JSON.stringify({ ...head, ...results }, (_key, value) => rounded(value), 1);
  // Samples on one line, or they fill pages.
  const short = text.replaceAll(/\[[\d\s.,-]+\]/g, (list) => list.replaceAll(/\s+/g, ""));
  writeFileSync(new URL(`${name}.json`, import.meta.url), `${short}\n`);
}

/** @param {unknown} value */
function rounded(value) {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}

/** The smallest of `values` that at least this share of them does not exceed. @param {readonly number[]} values @param {number} share */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** @param {readonly number[]} values */
export function quantiles(values) {
  const [p50, p90, p99, most] = [0.5, 0.9, 0.99, 1].map((share) => percentile(values, share).toFixed(1));
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, most ${most} ms`;
}
