// Of all replicas, at most two call a partner's API at once: six of them here, with two permits. A permit has no token, on any store, so that this is for work that is only wasteful, or only
// impolite, when a replica that was paused does it beside the next one.
//
//   npm run build && node examples/semaphore/main.mjs     with CONCLAVE_STORE=sqlite:./example.db in several terminals
import { openStore, semaphore } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
let calling = 0;

/** @param {string} id */
async function replica(id) {
  const calls = semaphore("partner-api", { store, id, permits: 2, unfenced: true });
  await calls.lead(async (permit) => {
    calling += 1;
    console.log(`${id} calls with permit ${permit.seat}; ${calling} at once`);
    await new Promise((resolve) => setTimeout(resolve, 50)); // the call, with permit.signal
    calling -= 1;
  });
}

await Promise.all(["web-1", "web-2", "web-3", "web-4", "web-5", "web-6"].map(replica));
