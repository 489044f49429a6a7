// A critical section that runs today. Ten tasks add to a total that is read, thought about and written back; without the lock nine of the ten
// additions would be lost.
//
//   npm run build && node examples/lock/main.mjs
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";

const candidate = createCandidate({ store: memory(), ttlMs: 2_000 });
let total = 0;

async function add() {
  const read = total;
  await new Promise((resolve) => setTimeout(resolve, 10));
  total = read + 1;
}

await Promise.all(Array.from({ length: 10 }, () => candidate.withLock("total", add, { waitMs: 5_000 })));
console.log(`with the lock: ${total} of 10`);

total = 0;
await Promise.all(Array.from({ length: 10 }, () => add()));
console.log(`without it:    ${total} of 10`);
await candidate.close();
