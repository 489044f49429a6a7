// How the clocks are read twice in one turn: what must hold of every reading that the machine gets (`isLater` in src/lease/deadline.ts builds on it).
import { expect, it } from "vitest";
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
