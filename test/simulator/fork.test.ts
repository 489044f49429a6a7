// A world of leases can be copied at any event: both copies go on alike, until something different is done to one of them.
import { describe, expect, it } from "vitest";
import { drawWorld, type Fault, LeaseWorld } from "conclave/simulator";

const begin = (seed: number): LeaseWorld => new LeaseWorld(drawWorld(seed), true);
const after = (world: LeaseWorld, events: number): LeaseWorld => {
  for (let left = events; left > 0; left--) world.step();
  return world;
};
const crash: Fault = {
  index: 99,
  kind: "crash",
  atMs: 0,
  durationMs: 50,
  amountMs: 0,
  election: 0,
  slot: 0,
  aimsAtLeader: true,
  waitsForElection: false,
};

describe("a fork of a world of leases", () => {
  it("goes on as the original does, wherever it was made", () => {
    for (const [seed, events] of [
      [1, 0],
      [2, 37],
      [3, 200],
      [4, 411],
    ] as const) {
      const whole = begin(seed);
      whole.run();
      const original = after(begin(seed), events);
      const fork = original.fork();
      expect(fork.trace.events).toEqual(original.trace.events);
      for (const world of [original, fork]) {
        world.run();
        expect(world.trace.hash.text()).toBe(whole.trace.hash.text());
      }
    }
  });

  it("does not share what is done to one of them, and a copy of it has been through the same", () => {
    const original = after(begin(5), 120);
    const fork = original.fork();
    fork.inflict(crash);
    const copy = after(fork, 10).fork();
    for (const world of [original, fork, copy]) world.run();
    expect(fork.trace.hash.text()).not.toBe(original.trace.hash.text());
    expect(copy.trace.hash.text()).toBe(fork.trace.hash.text());
    expect(copy.trace.events).toEqual(fork.trace.events);
  });
});
