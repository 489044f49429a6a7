// A function that is frozen between two calls. Timers do not run then, so nothing is renewed behind its back: each step proves first that this invocation still leads, and
// hands its token to whatever it writes to.
//
//   npm run build && node examples/serverless/main.mjs
import { createCandidate, openStore, requireFenced } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const batches = ["a", "b", "c"];

const handler = async (/** @type {string} */ id) => {
  const candidate = createCandidate({
    store,
    id,
    renewal: "manual",
    ttlMs: 60_000,
    logger: { ...console, info() {}, debug() {} },
  });
  const term = await candidate.election("nightly").tryCampaign();
  if (term === undefined) console.log(`${id}: another invocation has it`);
  for (const batch of term === undefined ? [] : batches) {
    await term?.renew();
    console.log(`${id}: batch ${batch} with token ${term?.token.value}`);
  }
  await term?.resign();
  await candidate.close();
};

await Promise.all([handler("one"), handler("two")]);
