// One worker for a queue whose jobs must not run side by side, on exactly one of many replicas: it is made when this replica is elected, and has closed before another
// replica makes its own. The election is in CONCLAVE_STORE, the queue in Redis. Needs bullmq, ioredis, and a Redis:
//
//   npm run build && REDIS_URL=redis://127.0.0.1:6379 node examples/bullmq/main.mjs
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
// BullMQ's workers wait for jobs inside a request, so that ioredis must not count its tries.
const connection = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379", { maxRetriesPerRequest: null });
connection.on("error", (error) => console.error(`redis: ${error.message}`));

// In your service somebody else adds jobs. Every replica may, whether it leads or not.
const queue = new Queue("reports", { connection });
await queue.addBulk([1, 2, 3].map((page) => ({ name: "report", data: { page } })));

await elect("reports-worker", { store, logger: { ...console, debug() {} } }).lead(
  async (term) => {
    const worker = new Worker("reports", (job) => makeReport(job, term), {
      connection,
      autorun: false,
      concurrency: 1,
    });
    worker.on("completed", (job) => console.log(`report ${job.id} is made`));
    worker.on("failed", (job, error) => console.error(`report ${job?.id}: ${error.message}`));
    worker.on("error", (error) => console.error(`worker: ${error.message}`));
    const running = worker.run();
    await Promise.race([term.ended, running]); // this replica is told to stop, or its lease runs out: `drainMs` are left; or the worker has failed
    await worker.close(); // no more jobs; the present one is done
    await running;
  },
  { signal: shutdownSignal({ exitWithinMs: 8_000 }) },
);
console.log("the seat is given back");
await queue.close();
await connection.quit();

/**
 * @param {{ id?: string }} job
 * @param {import("conclave").Term} term
 */
async function makeReport(job, term) {
  await new Promise((resolve) => setTimeout(resolve, Number(process.env["JOB_MS"] ?? 500)));
  // Before anything that cannot be taken back. A job that has begun may end while the term is ending, so this asks `isHeld` and not `isLeading`.
  if (!term.isHeld()) throw new Error(`this replica was replaced; the queue gives report ${job.id} to the next one`);
}
