// Three candidates, one seat. They stand in one process here, because the memory store reaches no further; with a networked store they would be
// three replicas of a service. Each leads for a moment, gives the seat back, and the next one is elected with a greater token.
//
//   npm run build && node examples/quick-start/main.mjs
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";

const store = memory();
const candidates = ["web-1", "web-2", "web-3"].map((id) => createCandidate({ store, id, ttlMs: 2_000 }));

/** What must not be done by two at once. */
let working = 0;

const turns = candidates.map((candidate) =>
  candidate.election("nightly-billing").lead(async (term) => {
    working += 1;
    console.log(`${candidate.id} leads with token ${term.token.value}; ${working} at work`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    working -= 1;
    // The work has ended: the seat is given back, and another candidate is elected.
  }),
);

await Promise.all(turns);
await Promise.all(candidates.map((candidate) => candidate.close()));
console.log("everyone has had a turn");
