// Runs seeds on all cores, in small portions, so that fast threads take more of them and an interruption is heard soon.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

/** @typedef {import("./hunt-worker.mjs").Order} Order */
/** @typedef {import("./hunt-worker.mjs").Report} Report */

const PORTION = 40;

/** A worker that answers one order at a time. */
export class HuntThread {
  #worker;

  /** @param {string} simulator what to import: a name or the URL of a module */
  constructor(simulator) {
    this.#worker = new Worker(new URL("hunt-worker.mjs", import.meta.url), { workerData: { simulator } });
  }

  /**
   * @param {Order} order
   * @returns {Promise<Report>}
   */
  run(order) {
    return new Promise((resolve, reject) => {
      const listeners = {
        message: (/** @type {Report} */ report) => settle(() => resolve(report)),
        error: (/** @type {Error} */ error) => settle(() => reject(error)),
        exit: (/** @type {number} */ code) => settle(() => reject(new Error(`a thread of the hunt ended: ${code}`))),
      };
      const settle = (/** @type {() => void} */ then) => {
        for (const [event, listener] of Object.entries(listeners)) this.#worker.off(event, listener);
        then();
      };
      for (const [event, listener] of Object.entries(listeners)) this.#worker.on(event, listener);
      this.#worker.postMessage(order);
    });
  }

  /** @returns {Promise<unknown>} */
  end() {
    return this.#worker.terminate();
  }
}

/**
 * @param {{ seedBase: number, seeds: number, isControl: boolean, signal: AbortSignal }} hunt
 * @param {(report: Report) => void} onReport
 */
export async function huntOnAllCores({ seedBase, seeds, isControl, signal }, onReport) {
  let next = 0;
  const threads = Array.from(
    { length: Math.min(availableParallelism(), Math.ceil(seeds / PORTION)) },
    () => new HuntThread("conclave/simulator"),
  );
  try {
    await Promise.all(
      threads.map(async (thread) => {
        while (next < seeds && !signal.aborted) {
          const from = seedBase + next;
          const count = Math.min(PORTION, seeds - next);
          next += count;
          onReport(await thread.run({ from, count, isControl, stopsAtFirst: false, judgedBy: undefined }));
        }
      }),
    );
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}
