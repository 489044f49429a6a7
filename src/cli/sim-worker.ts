// A thread of the swarm: takes an order, runs its seeds, hands the samples back. Built into a file of its own (scripts/build.mjs).
import { parentPort } from "node:worker_threads";
import { type SampleOrder, takeSamples } from "../simulator/index.ts";

parentPort?.on("message", (order: SampleOrder) => parentPort?.postMessage(takeSamples(order)));
