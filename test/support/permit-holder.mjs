// @ts-check
// A process that wants a permit of a semaphore again and again, for tests that kill and stop it. Notes what it holds as the judge reads it (src/testing/judge.ts), with the
// seat behind its name, and says on stdout how many permits it has had. Ends when its stdin does.
//   argument   { modules, store, id, permits, ttlMs, holdMs, log }
import { openSync, writeSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const options = JSON.parse(process.argv[2] ?? "{}");
const { openStore, semaphore } = await import(pathToFileURL(path.join(options.modules, "index.js")).href);
const { id, permits, ttlMs, holdMs } = options;
const log = openSync(options.log, "a");
const store = await openStore(options.store);
const workers = semaphore("workers", { store, id, permits, ttlMs, unfenced: true, onEvent: () => {} });
process.stdin.resume().on("end", () => process.exit(0));

/** Counts works, not calls: after a permit was lost, one call of `lead` begins its work again. */
let begun = 0;
for (;;) {
  await workers.lead(async (/** @type {any} */ permit) => {
    const had = ++begun;
    note("begin");
    process.stdout.write(`${had} ${permit.seat}\n`);
    const timer = setInterval(() => note("act"), 10);
    await new Promise((resolve) => {
      setTimeout(resolve, holdMs * (0.5 + Math.random()));
      permit.signal.addEventListener("abort", resolve, { once: true });
    });
    clearInterval(timer);
    note("end");

    /** The stamp is read before the permit says that it is held. @param {string} what */
    function note(what) {
      const [seconds, nanoseconds] = process.hrtime();
      const at = seconds * 1000 + nanoseconds / 1e6;
      if (permit.isHeld()) writeSync(log, `${at} ${id}#${permit.seat} ${what} ${had}\n`);
    }
  });
}
