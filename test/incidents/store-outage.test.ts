// Elsewhere: the store was wholly down while the leader was healthy, and everything was demoted at once and for long (why Patroni has a failsafe mode).
// Here: jeopardy while the deadline is ahead, lost at the deadline and not before, and a leader again without help when the store is back.
// Taken out: test/defences/store-outage.patch
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { fakeStore } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { killedServer } from "../support/store-incidents.ts";

const stores = useRealStores();

it("store-outage: jeopardy, ending, lost in their time; leads again soon after the store is back", async () => {
  const store = fakeStore();
  const candidate = createCandidate({ store, ttlMs: 10_000, drainMs: 2000 });
  const events: ConclaveEvent[] = [];
  candidate.subscribe((event) => events.push(event));
  const election = candidate.election("x");
  election.start();
  await store.advance(1);
  const first = election.term();
  store.hang();
  await store.advance(5_500);
  expect(first?.state()).toBe("jeopardy");
  await store.advance(3_000);
  expect(first?.state()).toBe("ending");
  await store.advance(30_000);
  expect(first?.state()).toBe("lost");
  expect(election.term()).toBeUndefined();
  expect(
    events
      .filter((event) => event.type === "error")
      .every(({ error }) => error.code === "STORE_TIMEOUT" && error.retryable),
  ).toBe(true);
  store.heal();
  await store.advance(10_000);
  expect(election.term()?.token.value).toBeGreaterThan(first?.token.value ?? 0n);
});

it("store-outage: a short one costs nothing but jeopardy", async () => {
  const store = fakeStore();
  const election = createCandidate({ store, ttlMs: 10_000, drainMs: 2000 }).election("x");
  election.start();
  await store.advance(1);
  const term = election.term();
  store.hang();
  await store.advance(6_500);
  store.heal();
  await store.advance(30_000);
  expect(term?.isHeld()).toBe(true);
  expect(term?.state()).toBe("safe");
});

it.each(stores)(
  "store-outage: a real server is killed for three ttl and started again; lost at the deadline, and leads again without help (%s)",
  { timeout: 40_000 },
  (_, store) => killedServer(store, expect),
);
