// Something in memory that two leaders write. The old one has read the balance and is slow; the new one reads the same balance and writes first; then the
// old one writes back what it made of its read. First without a guard, where a deposit is lost, then with one, where the new leader's work
// begins when the old one's has ended, and later work of the old one is refused.
//
//   npm run build && node examples/fenced-memory/main.mjs
import { createCandidate } from "conclave";
import { memoryFence } from "conclave/fencing";
import { memory } from "conclave/stores/memory";

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const old = await first.election("account").campaign();
await old.resign(); // or its lease ran out: its work goes on all the same
const successor = await second.election("account").campaign();

const account = { balance: 100 };

/** @param {number} amount @param {number} slowMs */
async function deposit(amount, slowMs) {
  const read = account.balance;
  await new Promise((resolve) => setTimeout(resolve, slowMs));
  account.balance = read + amount;
}

await Promise.all([deposit(50, 60), deposit(7, 10)]);
const unfenced = account.balance;
console.log(`without a fence: 100 + 50 + 7 = ${unfenced}`);

account.balance = 100;
const fence = memoryFence();
await Promise.all([
  fence.run("account", old, () => deposit(50, 60)),
  fence.run("account", successor, () => deposit(7, 10)),
]);
const late = await fence.run("account", old, () => deposit(1_000, 0)).catch((error) => error.code);
const fenced = account.balance;
console.log(`with a fence:    100 + 50 + 7 = ${fenced}; a later deposit of the old leader: ${late}`);

await Promise.all([first.close(), second.close()]);
if (unfenced === 157 || fenced !== 157 || late !== "TOKEN_STALE") process.exitCode = 1;
