// ts-jest, which compiles for CommonJS and looks up types as node10 does.
import { createCandidate, elect } from "conclave";
import type { ConclaveEvent } from "conclave";
import { memory } from "conclave/stores/memory";

test("leads, and a rival waits", async () => {
  const store = memory();
  const [first, second] = ["a", "b"].map((id) => createCandidate({ store, id }));
  const events: ConclaveEvent[] = [];
  first!.subscribe((event) => events.push(event));
  const term = await first!.election("x").campaign();
  expect(await second!.election("x").tryCampaign()).toBeUndefined();
  expect(events.some(({ type }) => type === "elected")).toBe(true);
  await term.resign();
  await Promise.all([first!.close(), second!.close()]);
});

test("hands a value out of the work", async () => {
  const token = await elect("y", { store: memory() }).lead(async (term) => term.token.value);
  expect(token).toBe(BigInt(1));
});
