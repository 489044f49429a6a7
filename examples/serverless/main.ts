// A function that is frozen between two calls. Timers do not run then, so nothing is renewed behind its back: each step proves first that
// this invocation still leads, and hands its token to whatever it writes to.
// Needs `conclave/stores/dynamodb`, which is planned.
import { createCandidate, type Fenced } from "conclave";
import { dynamodb } from "conclave/stores/dynamodb";

declare const batches: readonly string[];
declare function handle(batch: string, by: Fenced): Promise<void>;

const candidate = createCandidate({ store: dynamodb({ table: "locks" }), renewal: "manual", ttlMs: 60_000 });

export async function handler(): Promise<void> {
  await using term = await candidate.election("nightly").tryCampaign();
  if (!term) return; // another invocation has it
  for (const batch of batches) {
    await term.renew();
    await handle(batch, term);
  }
}
