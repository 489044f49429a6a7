// Portions of seeds on all cores: threads take one after the other, so that a fast one takes more of them. Results come with their number, so that they can be
// put in order whatever the threads do. One progress line, on stderr, for people.
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { HuntOrder, HuntReport, Sample, SampleOrder } from "../simulator/index.ts";

const PORTION = 50;
const THREAD = "dist/cli/sim-worker.js";

const ABORTED = Symbol("aborted");

type AnswerTo<Order> = Order extends HuntOrder ? HuntReport : readonly Sample[];

/** Cuts an order into portions and has each carried out. When `signal` aborts, portions that are under way are dropped: a slow one may take half a minute. */
export async function shareOut<Order extends SampleOrder | HuntOrder>(
  order: Order,
  onAnswer: (answer: AnswerTo<Order>, portion: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const portions = Array.from({ length: Math.ceil(order.count / PORTION) }, (_, index) => ({
    ...order,
    fromSeed: order.fromSeed + index * PORTION,
    count: Math.min(PORTION, order.count - index * PORTION),
  }));
  if (signal?.aborted === true) return;
  let next = 0;
  const threads = Array.from(
    { length: Math.min(availableParallelism(), portions.length) },
    () => new Worker(threadFile()),
  );
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    signal?.addEventListener("abort", () => resolve(ABORTED), { once: true });
  });
  try {
    await Promise.all(
      threads.map(async (thread) => {
        for (let index = next++; index < portions.length; index = next++) {
          const answer = await Promise.race([ask(thread, portions[index]), aborted]);
          if (answer === ABORTED) return;
          onAnswer(answer as AnswerTo<Order>, index);
        }
      }),
    );
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** The thread's code is a file of its own in the package; where this one ended up after the build does not matter. */
function threadFile(): string {
  return path.join(path.dirname(createRequire(import.meta.url).resolve("conclave/package.json")), THREAD);
}

function ask(thread: Worker, order: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    thread.removeAllListeners();
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`a thread ended: ${code}`)));
    thread.postMessage(order);
  });
}

/** Is written over on a terminal; elsewhere there is one line for every quarter, if there is more than one portion. */
export function progressOf(what: string, count: number): (done: number, broken?: number) => void {
  let quarter = 0;
  return (done, broken = 0) => {
    const text = `${what}: ${done} of ${count} seeds${broken > 0 ? `, ${broken} broken` : ""}`;
    if (process.stderr.isTTY) {
      process.stderr.write(`\r\x1b[K${done < count ? text : ""}`);
      return;
    }
    const reached = Math.floor((4 * done) / count);
    if (reached <= quarter || count <= PORTION * 4) return;
    quarter = reached;
    process.stderr.write(`${text}\n`);
  };
}
