// Readings that are carried on instead of taken: what they may show, and that nobody is told by one that a term is held.
import { describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";
import { ManualClock } from "conclave/testing";
import { ClockReader } from "../../src/election/clock-reader.ts";

class CountedClock extends ManualClock {
  readings = 0;

  override now(): ReturnType<ManualClock["now"]> {
    this.readings++;
    return super.now();
  }
}

describe("read again", () => {
  it("shows what reading both hands would have shown, and reads one", () => {
    const clock = new CountedClock(1000);
    const reader = new ClockReader(clock);
    reader.now();
    clock.freeze(9);
    expect(reader.again()).toEqual({ mono: 1009, boot: 1009 });
    expect(clock.readings).toBe(1);
  });

  it("is behind by what the host slept in between, and never ahead", () => {
    const clock = new CountedClock(1000);
    const reader = new ClockReader(clock);
    reader.now();
    clock.freeze(5);
    clock.suspend(60_000);
    expect(reader.again()).toEqual({ mono: 1005, boot: 1005 });
    expect(reader.now()).toEqual({ mono: 1005, boot: 61_005 });
  });

  it("reads both hands if they were not, or a while ago", () => {
    const clock = new CountedClock(1000);
    const reader = new ClockReader(clock);
    expect(reader.again()).toEqual({ mono: 1000, boot: 1000 });
    clock.suspend(500);
    clock.freeze(11);
    expect(reader.again()).toEqual({ mono: 1011, boot: 1511 });
    expect(clock.readings).toBe(2);
  });

  it("does without, where a clock has no such hand", () => {
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
