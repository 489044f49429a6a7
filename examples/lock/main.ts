// A short critical section. The name is made from data, so the lock is a method of the candidate and not an object per name.
// Needs `conclave/stores/redis`, which is planned. Redis cannot fence, hence the word `unfenced`: here a charge carries its order number, so that
// charging twice is refused by whoever is charged, and the lock only saves the attempt. `run.mjs` beside this file runs today.
import { createCandidate } from "conclave";
import { type Evaluator, redis } from "conclave/stores/redis";

declare const client: Evaluator;
declare function charge(order: string, options: { signal: AbortSignal }): Promise<string>;

const candidate = createCandidate({ store: redis(client), unfenced: true });

export const pay = (order: string): Promise<string> =>
  candidate.withLock(`order:${order}`, (term) => charge(order, { signal: term.signal }), { waitMs: 2_000 });
