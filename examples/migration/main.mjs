// A migration that one of several starting replicas runs while the others wait for it. Whether there is still something to migrate is for `migrate` to find out: each
// replica gets its turn, one after the other.
// On Node 24, or compiled by TypeScript, `await using term = await election.campaign()` does what `finally` does here.
//
//   npm run build && node examples/migration/main.mjs
import { elect, openStore } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
let isMigrated = false;

async function start(/** @type {string} */ replica) {
  const election = elect("migrate", {
    store,
    unfenced: true,
    id: replica,
    logger: { ...console, info() {}, debug() {} },
  });
  const term = await election.campaign({ signal: AbortSignal.timeout(60_000) });
  try {
    await migrate(replica, term.signal);
  } finally {
    await term.resign();
    await election.close();
  }
}

/**
 * @param {string} replica
 * @param {AbortSignal} signal
 */
async function migrate(replica, signal) {
  if (isMigrated) return console.log(`${replica}: nothing to do`);
  signal.throwIfAborted();
  isMigrated = true;
  console.log(`${replica}: migrated`);
}

await Promise.all(["web-1", "web-2", "web-3"].map(start));
