// Elsewhere: the host slept twice the ttl with its monotonic clock frozen, and the leader thought that no time had passed.
// Here: the deadline stands on boot time too; whichever hand passes first ends the term.
// Taken out: test/mutants/one-clock-hand.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { fakeStore } from "conclave/testing";

it("suspended-host: a term ends at once when boot time has passed its deadline and the monotonic clock has not", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000 });
  election.start();
  await store.advance(1);
  const term = election.term();
  expect(term?.isHeld()).toBe(true);
  const ended = term?.ended;
  store.suspend(20_000);
  expect(term?.isHeld()).toBe(false);
  expect(term?.signal.aborted).toBe(true);
  await expect(ended).resolves.toBe("suspended");
});
