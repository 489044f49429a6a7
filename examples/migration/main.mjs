// A migration that one of several starting replicas runs while the others wait for it; those that come later skip it. A memo, which only the leader can write, says which version was reached.
// A replica that dies in the midst of it leaves no memo, so that the next one migrates: the steps of a migration must be such that they can be begun again.
//
//   npm run build && node examples/migration/main.mjs
import { elect, openStore } from "conclave";

const VERSION = "42";
const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");

async function start(/** @type {string} */ replica) {
  const election = elect("migrations", {
    store,
    unfenced: true,
    id: replica,
    logger: { ...console, info() {}, debug() {} },
  });
  const isDone = async () => (await election.memo("version"))?.value === VERSION;
  if (!(await isDone()))
    await election.lead(async (term) => {
      if (await isDone()) return;
      await migrate(replica, term.signal);
      await term.memo("version", VERSION);
    });
  await election.close();
  console.log(`${replica}: serves`);
}

/**
 * @param {string} replica
 * @param {AbortSignal} signal
 */
async function migrate(replica, signal) {
  signal.throwIfAborted();
  console.log(`${replica}: migrated`);
}

await Promise.all(["web-1", "web-2", "web-3"].map(start));
await start("web-4"); // a week later: nothing to do
