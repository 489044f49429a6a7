// Many seeds on all cores: threads take portions, so that a fast one takes more of them, and results come back in the order of seeds whatever
// the threads do. Progress goes to stderr, for people.
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { Sample, SampleOrder } from "../simulator/index.ts";
import { samplesAsCsv, summarize, tellSwarm } from "./sim-report.ts";

const PORTION = 50;
const THREAD = "dist/cli/sim-worker.js";

async function runSwarm(order: SampleOrder, onProgress: (done: number) => void): Promise<readonly Sample[]> {
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

export interface Telling {
  readonly name: string;
  readonly nodes: number;
  /** Whether a term that nobody won says anything about this protocol. */
  readonly hasVotes: boolean;
  readonly isJson: boolean;
  readonly isCsv: boolean;
  /** What the user typed, for the replay command. */
  readonly args: readonly string[];
}

/** Runs a swarm and prints it. What depends on the machine goes to stderr. */
export async function tellSamples(
  order: SampleOrder,
  { name, nodes, hasVotes, isJson, isCsv, args }: Telling,
): Promise<number> {
  const startedAt = performance.now();
  const samples = await runSwarm(order, (done) => showProgress(done, order.count));
  const seconds = (performance.now() - startedAt) / 1000;
  const summary = summarize(name, nodes, samples, (seed) => replayCommand(args, seed));
  const text = isCsv
    ? samplesAsCsv(samples)
    : isJson
      ? `${JSON.stringify(summary)}\n`
      : tellSwarm(summary, samples, order.kind === "hunt", hasVotes);
  process.stdout.write(text);
  const events = samples.reduce((sum, sample) => sum + sample.events, 0);
  process.stderr.write(
    `${order.count} seeds, ${events} events in ${seconds.toFixed(1)} s: ${Math.round(events / seconds)} events/s\n`,
  );
  return summary.failures.length === 0 ? 0 : 1;
}

function showProgress(done: number, count: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count}${done === count ? "\n" : ""}`);
}

/** The same arguments, for one seed. */
function replayCommand(args: readonly string[], seed: number): string {
  const kept: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? "";
    if (word === "--seeds" || word === "--seed") index++;
    else if (!/^--(?:seeds?=|csv$|json$)/.test(word)) kept.push(word);
  }
  return `conclave sim ${kept.map(quoted).join(" ")} --seed ${seed}`;
}

/** For a shell: `1>2` is no redirection. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
