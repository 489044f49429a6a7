// Boot time is used again for a few milliseconds, and read anew as soon as the host may have slept.
import { describe, expect, it } from "vitest";
import type { Reading } from "../../src/base/clock.ts";
import { keptBootTime } from "../../src/election/kept-boot-time.ts";

/** As on Linux: a fine monotonic clock, a wall clock in whole milliseconds, and boot time in steps of 10 ms. */
class Host {
  awakeMs = 1000;
  sleptMs = 0;
  wallOffsetMs = 1_700_000_000_000.4;
  /** How often boot time was read. */
  calls = 0;
  /** What happens between reading the monotonic clock and the wall clock, once. */
  between = (): void => {};
  readonly read: () => Reading = keptBootTime({
    monoMs: () => this.awakeMs,
    wallMs: () => {
      this.between();
      this.between = () => {};
      return Math.floor(this.trueMs + this.wallOffsetMs);
    },
    bootMs: () => {
      this.calls++;
      return Math.floor(this.trueMs / 10) * 10;
    },
  });

  get trueMs(): number {
    return this.awakeMs + this.sleptMs;
  }

  callsFor(reading: () => unknown): number {
    const before = this.calls;
    reading();
    return this.calls - before;
  }
}

it("boot time is read once for 4 ms, and the monotonic clock each time", () => {
  const host = new Host();
  expect(host.read()).toEqual({ mono: 1000, boot: 1000 });
  for (let step = 0; step < 16; step++) {
    host.awakeMs += 0.25;
    expect(host.read()).toEqual({ mono: host.awakeMs, boot: 1000 });
  }
  expect(host.calls).toBe(1);
  host.awakeMs += 6.01;
  expect(host.read()).toEqual({ mono: host.awakeMs, boot: 1010 });
  expect(host.calls).toBe(2);
});

it("two clocks that are read at any part of a millisecond do not look like a sleep", () => {
  const host = new Host();
  host.read();
  for (let step = 0; step < 40; step++) {
    host.awakeMs += 0.0999;
    host.read();
  }
  expect(host.calls).toBe(1);
});

describe.each([2, 20, 1000, 86_400_000])("a sleep of %i ms", (sleptMs) => {
  it("between two readings is in the second", () => {
    const host = new Host();
    host.read();
    host.sleptMs += sleptMs;
    expect(host.read().boot).toBe(Math.floor(host.trueMs / 10) * 10);
  });

  it("between reading the monotonic clock and the wall clock is in that reading, and known to the next", () => {
    const host = new Host();
    host.read();
    host.between = () => (host.sleptMs += sleptMs);
    expect(host.read().boot).toBe(Math.floor(host.trueMs / 10) * 10);
    expect(host.callsFor(host.read)).toBe(0);
  });

  it("is noticed although the wall clock was set forward or back by another amount in the same moment", () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const host = new Host();
      host.read();
      host.sleptMs += sleptMs;
      host.wallOffsetMs += step;
      expect(host.callsFor(host.read)).toBe(1);
    }
  });
});

it("a wall clock that is set costs one reading of boot time, and changes nothing else", () => {
  const host = new Host();
  const before = host.read();
  host.wallOffsetMs -= 7_200_000;
  expect(host.read()).toEqual(before);
  expect(host.calls).toBe(2);
  host.read();
  expect(host.calls).toBe(2);
});

it("a process that was stopped between reading the two clocks reads boot time again", () => {
  const host = new Host();
  host.between = () => (host.awakeMs += 3);
  host.read();
  expect(host.callsFor(host.read)).toBe(1);
});

it("no clock goes back or is ahead of the truth, and boot time lags by less than 20 ms, whatever happens in which order", () => {
  const host = new Host();
  let seed = 7;
  const draw = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  let last = host.read();
  for (let time = 0; time < 20_000; time++) {
    host.awakeMs += draw(700) / 100;
    const event = draw(20);
    if (event === 0) host.sleptMs += draw(3) === 0 ? draw(6) : draw(60_000);
    if (event === 1) host.wallOffsetMs += draw(100_000);
    if (event === 2) host.between = () => (host.awakeMs += draw(600) / 100);
    if (event === 3) host.between = () => (host.sleptMs += draw(6));
    const next = host.read();
    expect(next.mono).toBeGreaterThanOrEqual(last.mono);
    expect(next.boot).toBeGreaterThanOrEqual(last.boot);
    expect(next.boot).toBeLessThanOrEqual(host.trueMs);
    expect(host.trueMs - next.boot).toBeLessThan(20);
    last = next;
  }
});
