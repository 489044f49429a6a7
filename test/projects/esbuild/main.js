// A program that is bundled.
import assert from "node:assert/strict";
import { createCandidate, elect, openStore } from "conclave";
import { memory } from "conclave/stores/memory";

async function main() {
  assert.equal(await elect("x", { store: memory() }).lead(async (term) => term.token.value), 1n);
  const store = await openStore("sqlite:bundled.db");
  assert.equal(await elect("x", { store }).lead(async (term) => term.isHeld()), true);
  const again = await openStore("sqlite:bundled.db");
  const thread = () => createCandidate({ store: again, renewal: "thread" });
  if (process.argv[2] === "inside") assert.throws(thread, /leave conclave out of the bundle/);
  else await thread().close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
