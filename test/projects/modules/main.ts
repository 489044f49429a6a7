// What a program writes, the same for CommonJS and for ES modules, under every resolution that TypeScript knows.
import { strict as assert } from "node:assert";
import { ConclaveError, createCandidate, elect, openStore } from "conclave";
import type { Election } from "conclave";
import { memory } from "conclave/stores/memory";
import { all } from "./every";

async function main(): Promise<void> {
  const token = await elect("x", { store: memory() }).lead(async (term) => term.token.value);
  assert.equal(token, BigInt(1));
  const store = await openStore("memory:modules");
  const candidate = createCandidate({ store, unfenced: true });
  const election: Pick<Election, "name"> = candidate.election("y");
  assert.equal(election.name, "y");
  await candidate.close();
  assert.throws(() => elect("x", { store: memory(), ttlMs: -1 }), ConclaveError);
  console.log(`${all.length} public modules`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
