// One worker for a queue whose jobs must not run side by side, on exactly one of many replicas: it is made when this replica is elected, and has closed before another
// replica makes its own. BullMQ's `Worker` with `autorun: false`; a stand-in of the same shape is beside this file, because the real one needs a Redis.
//
//   npm run build && node examples/bullmq/main.mjs
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";
import { Worker } from "./queue.mjs"; // in your service: "bullmq"

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);

await elect("reports-worker", { store, logger: { ...console, debug() {} } }).lead(
  async (term) => {
    const worker = new Worker("reports", (job) => makeReport(job, term), { autorun: false, concurrency: 1 });
    worker.on("completed", (job) => console.log(`report ${job.id} is made`));
    const running = worker.run();
    await term.ended; // this replica is told to stop, or its lease runs out: `drainMs` are left
    await worker.close(); // no more jobs; the present one is done
    await running;
  },
  { signal: shutdownSignal({ exitWithinMs: 8_000 }) },
);
console.log("the seat is given back");

/**
 * @param {{ id: string }} _job
 * @param {import("conclave").Term} term
 */
async function makeReport(_job, term) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  // Before anything that cannot be taken back. A job that has begun may end while the term is ending, so this asks `isHeld` and not `isLeading`.
  if (!term.isHeld()) throw new Error("this replica was replaced; the queue gives the job to the next one");
}
