// @ts-check
// A thread of scripts/mutants.mjs: hunts in the simulator that it is told of, without its defence, and tells the first thing that it found.
import { parentPort, workerData } from "node:worker_threads";

const { huntSeeds } = /** @type {typeof import("conclave/simulator")} */ (await import(workerData.simulator));
let finding;
for (const order of workerData.orders) finding ??= huntSeeds(order).findings[0];
parentPort?.postMessage(finding);
