// From the review of the design: a request that commits after its caller gave up, and after a later request, must break nothing.
// Here: a claim that was given up and wins later is found with the next keep, and given back; nobody leads by it and nobody is blocked by it.
// Taken out: test/defences/late-commit.patch
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { fakeStore, faulty } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { lateClaim } from "../support/store-incidents.ts";

it("late-commit: a claim that commits after its caller gave up leads nobody and blocks nobody", async () => {
  const store = fakeStore();
  const network = faulty(store);
  const slow = createCandidate({ store: network, id: "slow", ttlMs: 10_000 });
  const other = createCandidate({ store, id: "other", ttlMs: 10_000 });
  const events: ConclaveEvent[] = [];
  slow.subscribe((event) => events.push(event));
  slow.election("busy").start(); // keeps the session alive
  await store.advance(1);
  network.faults.next("claim", { late: true });
  const locked = slow.withLock("x", async () => "won", { waitMs: 100 });
  const refused = expect(locked).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
  await store.advance(4_000);
  await refused;
  expect(network.faults.injected.map(({ fault }) => fault)).toEqual([{ late: true }]);
  await store.advance(20_000);
  expect(events.some((event) => event.type === "elected" && event.election === "x")).toBe(false);
  const winning = other.withLock("x", async () => "free", { waitMs: 5_000 });
  await store.advance(5_000);
  await expect(winning).resolves.toBe("free");
});

it.each(useRealStores())(
  "late-commit: the same of a claim that the network keeps back, and delivers to a real server when nobody waits for it (%s)",
  { timeout: 40_000 },
  (_, store) => lateClaim(store, expect),
);
