// @ts-check
// Many candidates in one process, each with its own connection, socket and session. With `threads` each is in a thread of its own with its own copy of
// conclave, so that to each other they are what processes are. (Five hundred processes of Node would need twenty gigabytes; threads need thirteen megabytes
// each.) With `candidates` all are in the main thread, which is lighter still.
// Says on stdout, a JSON object a line: ready (each of them stands, and knows who leads), elected, lost, failed; and on the command "count" how often
// each thing was heard, and the CPU time so far.
//   argument: { modules, path, ttlMs, log, id, threads | candidates }
import { openSync, writeSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

if (isMainThread) await lead(JSON.parse(process.argv[2] ?? "{}"));
else await stand(workerData, (message) => parentPort?.postMessage(message));

/** @param {any} options */
async function lead(options) {
  /** @type {Record<string, number>} */
  const heard = { leader: 0, elected: 0, lost: 0, failed: 0, error: 0 };
  createInterface({ input: process.stdin })
    .on("close", () => process.exit(0))
    .on("line", () => {
      const { user, system } = process.cpuUsage();
      say("counted", { cpuMs: (user + system) / 1000, heard });
    });
  for (let index = 0; index < (options.candidates ?? options.threads); index++) {
    const own = { ...options, id: `${options.id}.${index}` };
    // One after the other: they would only wait for each other, and for the processor.
    await new Promise((resolve, reject) => {
      const hear = (/** @type {any} */ message) => {
        heard[message.event] = (heard[message.event] ?? 0) + 1;
        if (message.event !== "error" && message.event !== "leader")
          process.stdout.write(`${JSON.stringify(message)}\n`);
        if (message.event === "leader" || message.event === "elected") resolve(undefined);
      };
      if (options.candidates !== undefined) stand(own, hear).catch(reject);
      else new Worker(new URL(import.meta.url), { workerData: own }).on("error", reject).on("message", hear);
    });
  }
  say("ready", {});
}

/** @param {any} options @param {(message: { at: number, event: string, id: string }) => void} hear */
async function stand(options, hear) {
  const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(options.modules, `${name}.js`)).href);
  const { createCandidate } = await load("index");
  const { sqlite } = await load("sqlite");
  const log = openSync(options.log, "a");
  const candidate = createCandidate({ store: sqlite(options.path), id: options.id, ttlMs: options.ttlMs });
  const tell = (/** @type {string} */ event) => hear({ at: nowMs(), event, id: options.id });
  candidate.subscribe((/** @type {any} */ { type }) => {
    if (type === "leader" || type === "lost" || type === "error") tell(type);
  });
  await candidate
    .election("x")
    .lead(async (/** @type {any} */ term) => {
      const note = (/** @type {string} */ what) => {
        const at = nowMs();
        if (term.isHeld()) writeSync(log, `${at} ${options.id} ${what} ${term.token.value}\n`);
      };
      note("begin");
      tell("elected");
      const acts = setInterval(() => note("act"), 2);
      await new Promise((resolve) => {
        if (term.signal.aborted) resolve(undefined);
        term.signal.addEventListener("abort", resolve);
      });
      clearInterval(acts);
    })
    .catch(() => tell("failed"));
}

function say(/** @type {string} */ event, /** @type {object} */ more) {
  process.stdout.write(`${JSON.stringify({ at: nowMs(), event, ...more })}\n`);
}

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
