// A thousand elections in one process: one candidate, one session, one renewal for all. It is also one blast radius: if that session fails, all its terms end together.
//
//   npm run build && node examples/many/main.mjs
import { createCandidate, openStore, requireFenced, shutdownSignal } from "conclave";

const tenants = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`);
const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const candidate = createCandidate({ store, ttlMs: 10_000, logger: { ...console, info() {}, debug() {} } });
const signal = shutdownSignal({ exitWithinMs: 8_000 });

let leading = 0;
const led = tenants.map((tenant) =>
  candidate.election(`tenant/${tenant}`).lead((term) => sync(tenant, term), { signal }),
);

/**
 * @param {string} _tenant
 * @param {import("conclave").Term} term
 */
async function sync(_tenant, term) {
  if (++leading === tenants.length) console.log(`leads ${leading} elections over one session`);
  await term.ended; // in your service: work that takes `term.signal`
}

await Promise.all(led);
await candidate.close();
console.log("all are given back");
