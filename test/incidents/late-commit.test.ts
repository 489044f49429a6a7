// From the review of the design: a request that commits after its caller gave up, and after a later request, must break nothing.
// Here: a claim that was given up and wins later is found with the next keep, and given back; nobody leads by it and nobody is blocked by it.
// Taken out: test/defences/late-commit.patch
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { fakeStore, faulty } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { Wire } from "../support/wire.ts";

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
  async (_, store) => {
    const wire = await Wire.to(store.server());
    await using slow = createCandidate({ store: store.open(wire.url), id: "slow", ttlMs: 8000, drainMs: 200 });
    await using other = createCandidate({ store: store.open(), id: "other", ttlMs: 8000, drainMs: 200 });
    const events: ConclaveEvent[] = [];
    slow.subscribe((event) => events.push(event));
    await slow.election("busy").campaign(); // keeps the session alive
    const holder = await other.election("late").campaign();
    wire.keepBack(store.claimText("late"));
    // Gives up before its request does: that would be asked again, over another connection.
    const locked = slow.withLock("late", async () => "won", { waitMs: 1500 });
    const refused = expect(locked).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
    await holder.resign();
    await expect.poll(() => wire.hasKept, { timeout: 5000 }).toBe(true);
    await refused;
    // Longer than a request waits for an answer: what it gave up it has also released, over another connection, and the store said that nothing is there.
    await new Promise((resolve) => setTimeout(resolve, 3500));
    const before = await store.applied();
    wire.deliver();
    await expect.poll(() => store.applied()).toBeGreaterThan(before);
    // The next renewal finds what was granted to nobody.
    await expect
      .poll(() => other.withLock("late", async () => "free", { waitMs: 1000 }).catch(() => "taken"), {
        timeout: 20_000,
      })
      .toBe("free");
    expect(events.some((event) => event.type === "elected" && event.election === "late")).toBe(false);
    wire.end();
  },
);
