// A thread of the hunt: runs seeds and tells what it found. Which simulator it runs is told at the start, so that a mutant's can be run too.
import { parentPort, workerData } from "node:worker_threads";

/**
 * @typedef {object} Order
 * @property {number} from the first seed
 * @property {number} count
 * @property {boolean} isControl clocks at twice the declared bound
 * @property {boolean} stopsAtFirst
 * @property {string[] | undefined} judgedBy only these invariants
 * @property {string} [protocol] hunt in the world of this protocol, not in that of leases
 *
 * @typedef {object} Finding
 * @property {number} seed
 * @property {string} invariant
 * @property {string} story
 * @property {number} atMs
 * @property {string} label
 *
 * @typedef {object} Report
 * @property {number} seeds how many were run
 * @property {import("conclave/simulator").Counts} counts
 * @property {string[]} hashes
 * @property {Finding[]} findings
 */

const { runSeed, huntProtocol, emptyCounts, addCounts } = /** @type {typeof import("conclave/simulator")} */ (
  await import(workerData.simulator)
);

parentPort?.on("message", (/** @type {Order} */ order) =>
  parentPort?.postMessage(order.protocol === undefined ? carryOut(order) : huntIn(order.protocol, order)),
);

/**
 * @param {Order} order
 * @returns {Report}
 */
function carryOut({ from, count, isControl, stopsAtFirst, judgedBy }) {
  /** @type {Report} */
  const report = { seeds: 0, counts: emptyCounts(), hashes: [], findings: [] };
  for (let seed = from; seed < from + count; seed++) {
    const { violation, hash, counts, spec } = runSeed(seed, { isControl, judgedBy });
    report.seeds++;
    report.hashes.push(hash);
    addCounts(report.counts, counts);
    if (violation === undefined) continue;
    report.findings.push({ seed, label: spec.label, ...violation });
    if (stopsAtFirst) break;
  }
  return report;
}

/**
 * @param {string} protocol
 * @param {Order} order
 * @returns {Report}
 */
function huntIn(protocol, { from, count, stopsAtFirst, judgedBy }) {
  /** @type {Report} */
  const report = { seeds: 0, counts: emptyCounts(), hashes: [], findings: [] };
  for (let seed = from; seed < from + count; seed++) {
    const { violation, hash } = huntProtocol(protocol, seed, { judgedBy });
    report.seeds++;
    report.hashes.push(hash);
    if (violation === undefined) continue;
    report.findings.push({ seed, label: protocol, ...violation });
    if (stopsAtFirst) break;
  }
  return report;
}
