// A job that runs once per fleet, at times. Every replica keeps its scheduler; a tick does something only on the replica that leads.
//
// Not with `lead(bill)`: when the work of `lead` ends, the seat is given back, another replica is elected, and would bill again. `lead` is for work that goes on for as
// long as the process; for work that happens at times, campaign in the background (`start`) and ask at each tick (`ifLeading`).
//
// And not by the election alone: one replica may bill, leave, and the tick of the next leader comes a moment later. So each run writes down for which slot it was, in a
// file that refuses an older leader, and a slot that is written down is not billed again.
//
//   npm run build && node examples/cron/main.mjs        in two terminals, with CONCLAVE_STORE=sqlite:./cron.db
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";
import { fileFence } from "conclave/fencing";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const everyMs = Number(process.env["EVERY_MS"] ?? 1_000);
const billed = fileFence(process.env["FOLDER"] ?? ".", "billed.json");

const election = elect("nightly-billing", { store, logger: { ...console, debug() {} } });
election.start();

/** What node-cron's `schedule("0 3 * * *", tick)` is in your service. */
const timer = setInterval(() => void tick().catch((error) => console.error(error)), everyMs / 4);

let isTicking = false;

async function tick() {
  if (isTicking) return; // the last tick is still at work: two of one process would both find the slot free
  isTicking = true;
  try {
    await election.ifLeading(billSlot);
  } finally {
    isTicking = false;
  }
}

/** @param {import("conclave").Term} term */
async function billSlot(term) {
  const slot = Math.floor(Date.now() / everyMs);
  await billed.raise(term); // from now on nothing of an older leader is seen, or can be written
  const last = Number((await billed.read())?.content.toString() ?? 0);
  if (last >= slot) return; // this night is billed
  await bill(slot, term.signal);
  // A process that dies here bills the slot again: give the payment service the slot as its idempotency key.
  await billed.write(String(slot), term);
}

/**
 * @param {number} slot
 * @param {AbortSignal} signal
 */
async function bill(slot, signal) {
  signal.throwIfAborted();
  console.log(`billed ${slot}`);
}

// On SIGTERM: no more ticks; `close` waits for a tick that is under way, and for nothing else; then nothing is left, and the process ends.
shutdownSignal({ exitWithinMs: 8_000 }).addEventListener("abort", () => {
  clearInterval(timer);
  void election.close();
});
