// @ts-check
// The world for protocols on one core: events per second of five nodes without and with invariants, simulated time per real time, and whether memory
// stays flat over 10⁸ events. Raft's election; every event is an input that a node was given.
import { ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";

const WARM = 500_000;
const EVENTS = 5_000_000;
const LONG = 100_000_000;

const name = "raft-election";

/** @param {boolean} isJudged */
function world(isJudged) {
  const links = { latency: uniformLatency(1, 5), lossChance: 0, duplicateChance: 0, isFifo: false };
  return new ProtocolWorld(specOf(name, { nodes: 5, links }), isJudged ? {} : { invariants: [] });
}

/**
 * @param {ProtocolWorld} world
 * @param {number} count
 */
function run(world, count) {
  const until = world.events + count;
  while (world.events < until) world.step();
}

/** @param {boolean} isJudged */
function speed(isJudged) {
  const measured = world(isJudged);
  run(measured, WARM);
  const [begun, fromMs] = [performance.now(), measured.nowMs];
  run(measured, EVENTS);
  const ms = performance.now() - begun;
  return { perSecond: (EVENTS / ms) * 1000, ratio: (measured.nowMs - fromMs) / ms };
}

/** Megabytes of heap that 10⁸ events leave behind, after what the first million left. */
function growth() {
  const measured = world(true);
  const heap = () => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  run(measured, WARM);
  const before = heap();
  run(measured, LONG);
  const after = heap();
  // Keeps the world alive until it was measured.
  return measured.events > 0 ? after - before : Number.NaN;
}

/** Exported as `run` for bench/run.mjs. */
async function measure() {
  const bare = speed(false);
  const judged = speed(true);
  return [
    { name: `five ${name} nodes, no invariants`, value: bare.perSecond, unit: "events/s", goal: "≥ 1000000" },
    { name: `five ${name} nodes, all invariants`, value: judged.perSecond, unit: "events/s", goal: "≥ 250000" },
    { name: `five ${name} nodes, simulated seconds in a second`, value: judged.ratio, unit: "", goal: "" },
    { name: `five ${name} nodes, heap grown over 10⁸ events`, value: growth(), unit: "MB", goal: "≤ 1" },
  ];
}

export { measure as run };
