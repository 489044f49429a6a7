// A thread of a swarm or a hunt: takes an order, runs its seeds, and hands the results back. Built into a file of its own (scripts/build.mjs).
import { parentPort } from "node:worker_threads";
import { type HuntOrder, huntSeeds, type SampleOrder, takeSamples } from "../simulator/index.ts";

parentPort?.on("message", (order: SampleOrder | HuntOrder) =>
  parentPort?.postMessage(order.kind === "hunt" ? huntSeeds(order) : takeSamples(order)),
);
