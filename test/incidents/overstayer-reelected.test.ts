// From the review of the design: a process whose old work still runs must not lead that name again: its two works would be two leaders in one process.
// Here: a lost term's campaign waits until the work has settled.
// Taken out: test/mutants/campaign-while-overstaying.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { fakeStore } from "conclave/testing";

it("overstayer-reelected: the name is not won again before the old work has settled", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000 });
  let running = 0;
  let begun = 0;
  let finish: () => void = () => {};
  void election.lead(async () => {
    begun++;
    expect(++running).toBe(1);
    await new Promise<void>((resolve) => (finish = resolve)); // ignores its signal
    running--;
  });
  await store.advance(1);
  store.depose("x");
  await store.advance(120_000);
  expect(begun).toBe(1);
  finish();
  await store.advance(60_000);
  expect(begun).toBe(2);
});
