// Many seeds on all cores: threads take portions, so that a fast one takes more of them, and results come back in the order of seeds whatever
// the threads do. Progress goes to stderr, for people.
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { Sample, SampleOrder } from "../simulator/index.ts";

const PORTION = 50;
const THREAD = "dist/cli/sim-worker.js";

export async function runSwarm(order: SampleOrder, onProgress: (done: number) => void): Promise<readonly Sample[]> {
  const portions = Array.from({ length: Math.ceil(order.count / PORTION) }, (_, index) => ({
    ...order,
    fromSeed: order.fromSeed + index * PORTION,
    count: Math.min(PORTION, order.count - index * PORTION),
  }));
  const results: (readonly Sample[])[] = [];
  let next = 0;
  let done = 0;
  const threads = Array.from(
    { length: Math.min(availableParallelism(), portions.length) },
    () => new Worker(threadFile()),
  );
  try {
    await Promise.all(
      threads.map(async (thread) => {
        for (let index = next++; index < portions.length; index = next++) {
          const samples = await ask(thread, portions[index] as SampleOrder);
          results[index] = samples;
          done += samples.length;
          onProgress(done);
        }
      }),
    );
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
  return results.flat();
}

/** The thread's code is a file of its own in the package; where this one ended up after the build does not matter. */
function threadFile(): string {
  return path.join(path.dirname(createRequire(import.meta.url).resolve("conclave/package.json")), THREAD);
}

function ask(thread: Worker, order: SampleOrder): Promise<readonly Sample[]> {
  return new Promise((resolve, reject) => {
    thread.removeAllListeners();
    thread.once("message", (samples: readonly Sample[]) => resolve(samples));
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`a thread of the swarm ended: ${code}`)));
    thread.postMessage(order);
  });
}
