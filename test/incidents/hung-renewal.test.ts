// Elsewhere: a renewal that neither resolved nor rejected kept the signal from ever aborting (redlock 5, Kubernetes client-go).
// Here: the deadline does not wait for any call, and every call has a timeout of its own.
// Taken out: test/defences/hung-renewal.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { fakeStore } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { stoppedServer } from "../support/store-incidents.ts";

const stores = useRealStores();

it("hung-renewal: the signal aborts before the deadline although the renewal never settles", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000, drainMs: 2000 });
  election.start();
  await store.advance(1);
  const term = election.term();
  expect(term?.isHeld()).toBe(true);
  store.hang();
  await store.advance(7_800);
  expect(term?.signal.aborted).toBe(false);
  await store.advance(200);
  expect(term?.signal.aborted).toBe(true);
  expect(term?.isHeld()).toBe(true);
  await store.advance(1_900);
  expect(term?.isHeld()).toBe(false);
});

it.each(stores)(
  "hung-renewal: the same while a real server is stopped, and it leads again when that goes on (%s)",
  (_, store) => stoppedServer(store, expect),
);
