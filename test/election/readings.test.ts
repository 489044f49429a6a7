// Every step of the machine is at a reading no older than that of the step before, also where one step sets off another before it is over.
import { expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { fakeStore, type ManualClock } from "conclave/testing";
import type { Reading } from "../../src/base/clock.ts";
import { hostClockOf } from "../../src/stores/host-clock.ts";

const readings = vi.hoisted(() => [] as Reading[]);
vi.mock(import("../../src/lease/machine.ts"), async (original) => {
  const machine = await original();
  const step: typeof machine.step = (...args) => {
    readings.push(args[2]);
    return machine.step(...args);
  };
  return { ...machine, step };
});

it("work that ends is settled at no older reading than what its abort has set off", async () => {
  const store = fakeStore();
  const candidate = createCandidate({ store, ttlMs: 10_000 });
  const led = candidate.election("x").lead(async (term) => {
    term.signal.addEventListener("abort", () => {
      (hostClockOf(store) as ManualClock).freeze(500);
      candidate.election("y").start();
    });
  });
  await store.advance(1);
  await led;
  const monos = readings.map(({ mono }) => mono);
  expect(Math.max(...monos)).toBeGreaterThanOrEqual(500);
  expect(monos).toEqual(monos.toSorted((a, b) => a - b));
});
