// A term from `campaign` or `start` has no work that conclave could wait for: it is settled when it is told that it is lost, and cannot overstay.
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import { fakeStore } from "conclave/testing";

it("a term without work that runs out is lost, and nobody is told that it overstayed", async () => {
  const store = fakeStore();
  const candidate = createCandidate({ store, ttlMs: 10_000, drainMs: 0, onOverstay: () => told.push("onOverstay") });
  const told: string[] = [];
  candidate.subscribe(({ type }) => told.push(type));
  const elected = candidate.election("x").campaign();
  await store.advance(1);
  await elected;
  store.hang();
  await store.advance(20_000);
  expect(told).toContain("lost");
  expect(told.filter((what) => what.toLowerCase().includes("overstay"))).toEqual([]);
});
