// Elsewhere: the wall clock jumped an hour on leader, follower or store, and a lease was stolen early or never ended (etcd, ShedLock).
// Here: no effect, because nobody reads it. Leader, waiter and store of this process all see the jumps.
// Taken out: test/defences/wall-clock-jump.patch
import { afterEach, expect, it, vi } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";

afterEach(() => vi.restoreAllMocks());

it.each([3_600_000, -3_600_000])(
  "wall-clock-jump: by %d ms, a held term stays held and a waiter goes on waiting",
  async (jumpMs) => {
    const store = memory();
    await using leader = elect("x", { store, id: "leader", ttlMs: 600, drainMs: 100 });
    await using waiter = elect("x", { store, id: "waiter", ttlMs: 600, drainMs: 100 });
    const term = await leader.campaign();
    waiter.start();
    const real = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => real() + jumpMs);
    const until = performance.now() + 1500;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(term.isHeld()).toBe(true);
      expect(waiter.term()).toBeUndefined();
    }
    vi.restoreAllMocks();
    await term.resign();
    await expect.poll(() => waiter.term()?.token.value).toBe(term.token.value + 1n);
  },
);
