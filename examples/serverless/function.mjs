// One instance of a function, as a platform keeps it: loaded once, called now and then, frozen in between. It keeps its term between two calls, and trusts it in none of
// them before the store has confirmed it: while the instance was frozen, no timer has run and another may have taken over.
//
// frozen.mjs plays the platform.
import { createCandidate, isConclaveError, openStore, requireFenced } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "");
requireFenced(store);
const candidate = createCandidate({
  store,
  id: process.env["INSTANCE"] ?? "function",
  renewal: "manual",
  ttlMs: Number(process.env["TTL_MS"] ?? 10_000),
  logger: { ...console, info() {}, debug() {}, warn() {} },
});
/** @type {import("conclave").Term | undefined} */
let term;

/** One call. `patienceMs`: how long it may wait for its turn; more than a ttl, if it is to replace an instance that was lost. @param {{ patienceMs: number }} event */
async function handler({ patienceMs }) {
  let over = "";
  if (term !== undefined && !(await isStillMine(term))) {
    over = `the term with token ${term.token.value} is over; `;
    term = undefined;
  }
  term ??= await stand(patienceMs);
  return term === undefined ? `${over}another instance leads` : `${over}leads with token ${term.token.value}`;
}

/** The store's word, in this call. @param {import("conclave").Term} held */
async function isStillMine(held) {
  try {
    await held.renew();
    return held.isLeading();
  } catch (error) {
    if (isConclaveError(error) && error.code === "TERM_LOST") return false;
    throw error;
  }
}

/** @param {number} patienceMs */
async function stand(patienceMs) {
  const election = candidate.election("nightly");
  if (patienceMs === 0) return await election.tryCampaign();
  try {
    return await election.campaign({ signal: AbortSignal.timeout(patienceMs) });
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") return undefined;
    throw error;
  }
}

process.on("message", (event) => {
  void handler(/** @type {{ patienceMs: number }} */ (event)).then(
    (answer) => process.send?.({ answer }),
    (error) => process.send?.({ failed: String(error) }),
  );
});
process.on("disconnect", () => void candidate.close().then(() => store.close()));
