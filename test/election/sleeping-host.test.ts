// A host that falls asleep around an election: no work begins by a term that has expired meanwhile, and nobody is told by a reading from before the sleep that a term is held.
import { describe, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";
import { ManualClock } from "conclave/testing";

describe.each([{ shape: "race" }, { shape: "line" }] as const)("a host that falls asleep, on memory: %o", (options) => {
  const TTL_MS = 1000;

  it("between its election and its work does not begin the work", async () => {
    const clock = new ManualClock();
    const candidate = createCandidate({ store: memory({ ...options, clock }), ttlMs: TTL_MS, drainMs: 100 });
    candidate.subscribe((event) => {
      if (event.type === "elected") clock.suspend(10 * TTL_MS);
    });
    let begun = false;
    const locked = candidate.withLock("x", async () => void (begun = true));
    await Promise.all([expect(locked).rejects.toMatchObject({ code: "TERM_LOST" }), clock.advance(5 * TTL_MS)]);
    expect(begun).toBe(false);
  });

  it("in the work of another term, and blocks the loop, does not begin the work behind it", async () => {
    const clock = new ManualClock();
    const candidate = createCandidate({ store: memory({ ...options, clock }), ttlMs: TTL_MS, drainMs: 100 });
    await candidate.withLock("y", async () => {}); // the session is open from here on
    const begun: string[] = [];
    const locks = ["a", "b"].map((name) =>
      candidate.withLock(name, async () => {
        begun.push(name);
        clock.freeze(2);
        clock.suspend(10 * TTL_MS);
      }),
    );
    const outcomes = Promise.allSettled(locks);
    await clock.advance(5 * TTL_MS);
    expect(await outcomes).toMatchObject(locks.map(() => ({ status: "rejected", reason: { code: "TERM_LOST" } })));
    expect(begun).toHaveLength(1);
    await candidate.close();
  });

  it("between its claim and the answer is not elected by that answer", async () => {
    const clock = new ManualClock();
    const store = memory({ ...options, clock });
    const claim = vi.spyOn(store, "claim");
    const candidate = createCandidate({ store, ttlMs: TTL_MS, drainMs: 100 });
    const claimsAtElection: number[] = [];
    candidate.subscribe((event) => {
      if (event.type === "elected") claimsAtElection.push(claim.mock.calls.length);
    });
    await candidate.withLock("y", async () => {}); // the session is open from here on
    claim.mockImplementationOnce(async (...asked) => {
      const claimed = await store.claim(...asked);
      clock.suspend(10 * TTL_MS);
      return claimed;
    });
    const locked = candidate.withLock("x", async (term) => term.isHeld());
    await clock.advance(5 * TTL_MS);
    expect(await locked).toBe(true);
    expect(claimsAtElection[1]).toBeGreaterThan(3); // 1: y; 2 and 3: the one before the sleep, by two calls
    await candidate.close();
  });

  it("in its work is told so when it asks, and its lock rejects", async () => {
    const clock = new ManualClock();
    const candidate = createCandidate({ store: memory({ ...options, clock }), ttlMs: TTL_MS, drainMs: 100 });
    const seen: boolean[] = [];
    const locked = candidate.withLock("x", async (term) => {
      seen.push(term.isLeading(), term.isHeld());
      clock.suspend(10 * TTL_MS);
      seen.push(term.isLeading(), term.isHeld(), term.signal.aborted);
    });
    await Promise.all([expect(locked).rejects.toMatchObject({ code: "TERM_LOST" }), clock.advance(5 * TTL_MS)]);
    expect(seen).toEqual([true, true, false, false, true]);
  });

  it("right before it asks for a lock gets one, now or when it asks again", async () => {
    const clock = new ManualClock();
    const candidate = createCandidate({ store: memory({ ...options, clock }), ttlMs: TTL_MS, drainMs: 100 });
    await candidate.withLock("x", async () => {});
    clock.suspend(10 * TTL_MS);
    const first = candidate.withLock("x", async (term) => term.isHeld()).catch(() => "lost");
    await clock.advance(5 * TTL_MS);
    expect([true, "lost"]).toContain(await first);
    const second = candidate.withLock("x", async (term) => term.isHeld());
    await clock.advance(5 * TTL_MS);
    expect(await second).toBe(true);
  });
});
