// @ts-check
// A thread of scripts/mutants.mjs: hunts in the simulator that it is told of, without its defence, and tells what it found.
import { parentPort, workerData } from "node:worker_threads";

const { huntSeeds } = /** @type {typeof import("conclave/simulator")} */ (await import(workerData.simulator));
parentPort?.postMessage(huntSeeds(workerData.order));
