// A job that runs once per fleet, at times. Every replica has the schedule; each slot runs on the one that leads, and a mark in the store remembers which slots have been, so that the
// next leader goes on where this one ended.
//
// Not with `lead(bill)`: when the work of `lead` ends, the seat is given back, another replica is elected, and would bill again. And not with node-cron and `election.ifLeading` alone: a tick that
// falls into the gap between two leaders is lost, and one may run twice where clocks differ. `schedule` takes node-cron's place:
//
//   cron.schedule("0 3 * * *", bill)                    runs in every replica
//   schedule(election, "0 3 * * *", bill)               runs in one (npm install croner)
//
//   npm run build && node examples/cron/main.mjs        in two terminals, with CONCLAVE_STORE=sqlite:./cron.db
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";
import { schedule } from "conclave/schedule";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const everyMs = Number(process.env["EVERY_MS"] ?? 1_000);

const election = elect("nightly-billing", { store, logger: { ...console, debug() {}, info() {} } });
schedule(election, { everyMs }, ({ slot, signal }) => bill(slot.getTime() / everyMs, signal), { missed: "all" });

/**
 * A process that dies here has begun the slot, and nobody begins it again. With `mark: "after"` it would be begun again: then give the payment service the slot as its idempotency key.
 *
 * @param {number} slot
 * @param {AbortSignal} signal
 */
async function bill(slot, signal) {
  signal.throwIfAborted();
  console.log(`billed ${slot}`);
}

// On SIGTERM: no more slots; `close` waits for one that is under way, and for nothing else; then nothing is left, and the process ends.
shutdownSignal({ exitWithinMs: 8_000 }).addEventListener("abort", () => void election.close());
