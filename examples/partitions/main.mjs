// Eight partitions of a queue, shared by all replicas: each partition is led by exactly one of them. Start it in several terminals, with another MEMBER each; kill one, and the others take over
// what it had. Every write carries the epoch of its partition, so that a replica which was stopped and replaced cannot spoil what its successor has done.
//
//   npm run build && MEMBER=web-1 node examples/partitions/main.mjs     with CONCLAVE_STORE=sqlite:./partitions.db
import { openStore, requireFenced, shutdownSignal } from "conclave";
import { memoryFence } from "conclave/fencing";
import { joinPartitions } from "conclave/partitions";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const fence = memoryFence(); // where the writes land; in production that of your database, one row for each partition

const group = await joinPartitions("orders", {
  store,
  partitions: 8,
  id: process.env["MEMBER"] ?? "web-1",
  ttlMs: 3_000,
  async onAssigned(partition, term) {
    console.log(`leads ${partition}`);
    while (term.isLeading()) {
      await fence.run(`orders/${partition}`, term, () => take(partition));
      await sleep(1_000, term.signal);
    }
    console.log(`stops ${partition}`); // nobody else leads it before this function has returned
  },
});

/** @param {number} partition */
function take(partition) {
  if (partition === 0) console.log("took an order of partition 0");
}

/** @param {number} ms @param {AbortSignal} signal */
function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(undefined)), { once: true });
  });
}

shutdownSignal({ exitWithinMs: 8_000 }).addEventListener("abort", () => void group.close());
