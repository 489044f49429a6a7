// A clock in the tester's hand.
import { ManualClock } from "conclave/testing";
import { describe, expect, it } from "vitest";

describe("ManualClock", () => {
  it("fires timers in the order in which they are due, of equal ones the older first, each at its time", async () => {
    const clock = new ManualClock(100);
    const fired: string[] = [];
    const note = (label: string) => () => void fired.push(`${label}@${clock.now().mono}`);
    clock.timer(30, note("c"));
    clock.timer(10, note("a"));
    clock.timer(10, note("b"));
    clock.timer(31, note("too late"));
    await clock.advance(30);
    expect(fired).toEqual(["a@110", "b@110", "c@130"]);
    expect(clock.now()).toEqual({ mono: 130, boot: 130 });
  });

  it("lets promise jobs settle between timers, and fires what they set", async () => {
    const clock = new ManualClock();
    const fired: string[] = [];
    clock.timer(1, () => {
      void (async () => {
        for (let hop = 0; hop < 50; hop++) await Promise.resolve();
        fired.push("settled");
        clock.timer(0, () => fired.push("set by it"));
      })();
    });
    clock.timer(2, () => fired.push("next"));
    await clock.advance(2);
    expect(fired).toEqual(["settled", "set by it", "next"]);
  });

  it("fires no timer that was cancelled", async () => {
    const clock = new ManualClock();
    const timer = clock.timer(1, () => expect.unreachable());
    timer.cancel();
    timer.cancel();
    await clock.advance(10);
  });

  it("suspends: boot time runs on, the monotonic hand and timers stand still", async () => {
    const clock = new ManualClock();
    const fired: number[] = [];
    clock.timer(10, () => fired.push(clock.now().mono));
    clock.suspend(1000);
    expect(clock.now()).toEqual({ mono: 0, boot: 1000 });
    await clock.advance(9);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual([10]);
  });

  it("freezes: both hands run on and timers are late", async () => {
    const clock = new ManualClock();
    const fired: number[] = [];
    clock.timer(10, () => fired.push(clock.now().mono));
    clock.freeze(50);
    expect([clock.now().mono, fired]).toEqual([50, []]);
    await clock.advance(0);
    expect(fired).toEqual([50]);
  });

  it("says so when timers wake each other for ever", async () => {
    const clock = new ManualClock();
    const again = (): void => void clock.timer(0, again);
    again();
    await expect(clock.advance(1)).rejects.toThrow(/wake each other for ever/);
  });
});
