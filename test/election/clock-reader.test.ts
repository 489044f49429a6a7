// How the clocks are read twice in a moment: what must hold of every reading that the machine gets (`isLater` in src/lease/deadline.ts builds on it), and that
// nobody is told by such a reading that a term is held.
import { describe, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";
import { ManualClock } from "conclave/testing";
import type { Clock, Reading } from "../../src/base/clock.ts";
import { ClockReader } from "../../src/election/clock-reader.ts";

/** As on Linux: one fine hand, and one that counts sleep in steps of 10 ms. */
class CoarseClock implements Clock {
  readonly grain = { monoMs: 5, bootMs: 20 };
  nowMs = 1000;
  sleptMs = 0;
  readings = 0;
  mono = (): number => this.nowMs;

  now(): Reading {
    this.readings++;
    return { mono: this.nowMs, boot: Math.floor((this.nowMs + this.sleptMs) / 10) * 10 };
  }

  timer(): never {
    throw new Error("nobody waits here");
  }
}

it("no hand goes back, however readings follow each other, and none is ahead of the truth", () => {
  const clock = new CoarseClock();
  const reader = new ClockReader(clock);
  let last = reader.now();
  for (let time = 0; time < 200; time++) {
    clock.nowMs += (time * 7) % 5;
    if (time % 50 === 0) clock.sleptMs += 10_000;
    const next = time % 3 === 0 ? reader.now() : reader.again();
    expect(next.mono).toBe(clock.nowMs);
    expect(next.boot).toBeGreaterThanOrEqual(last.boot);
    expect(next.boot).toBeLessThanOrEqual(clock.nowMs + clock.sleptMs);
    last = next;
  }
});

it("boot time is read anew after 10 ms", () => {
  const clock = new CoarseClock();
  const reader = new ClockReader(clock);
  reader.now();
  clock.nowMs += 10;
  reader.again();
  expect(clock.readings).toBe(1);
  clock.nowMs += 1;
  expect(reader.again()).toEqual({ mono: 1011, boot: 1010 });
  expect(clock.readings).toBe(2);
});

it("is behind by what the host slept in between", () => {
  const clock = new ManualClock(1000);
  const reader = new ClockReader(clock);
  reader.now();
  clock.freeze(5);
  clock.suspend(60_000);
  expect(reader.again()).toEqual({ mono: 1005, boot: 1000 });
  expect(reader.now()).toEqual({ mono: 1005, boot: 61_005 });
});

it("a clock without such a hand is read whole", () => {
  const whole = new ManualClock(5);
  const reader = new ClockReader({
    grain: whole.grain,
    now: () => whole.now(),
    timer: (...args) => whole.timer(...args),
  });
  reader.now();
  whole.suspend(100);
  expect(reader.again()).toEqual({ mono: 5, boot: 105 });
});

it("a lock reads boot time when it is granted, before its work and after it, and not when it was given back", async () => {
  const clock = new ManualClock();
  const candidate = createCandidate({ store: memory({ clock }), ttlMs: 1000 });
  const lock = (): Promise<void> => candidate.withLock("x", async () => {});
  await lock();
  const now = vi.spyOn(clock, "now");
  await lock();
  expect(now).toHaveBeenCalledTimes(3 + 2); // the store reads it too, at each of its two calls
  await candidate.close();
});

it("locks that are granted together share their readings of boot time", async () => {
  const clock = new ManualClock();
  const candidate = createCandidate({ store: memory({ clock }), ttlMs: 1000 });
  const locks = (): Promise<unknown> =>
    Promise.all(Array.from({ length: 64 }, (_, name) => candidate.withLock(`x${name}`, async () => {})));
  await locks();
  const now = vi.spyOn(clock, "now");
  await locks();
  expect(now.mock.calls.length).toBeLessThan(12); // there are two requests, and five readings for each at most
  await candidate.close();
});

it("boot time is read anew for work that begins more than a millisecond after the reading", () => {
  const clock = new ManualClock(1000);
  const reader = new ClockReader(clock);
  reader.now();
  clock.freeze(1);
  clock.suspend(60_000);
  expect(reader.near()).toEqual({ mono: 1001, boot: 1000 });
  clock.freeze(0.1);
  expect(reader.near()).toEqual({ mono: 1001.1, boot: 61_001.1 });
});

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
