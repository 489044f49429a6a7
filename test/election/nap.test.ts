// Waiting that a signal ends early.
import { ManualClock } from "conclave/testing";
import { describe, expect, it } from "vitest";
import { whenAborted } from "../../src/election/abort.ts";
import { nap } from "../../src/election/nap.ts";

describe("a nap", () => {
  const begin = (): { readonly clock: ManualClock; readonly stop: AbortController; readonly seen: string[] } => {
    const [clock, stop, seen] = [new ManualClock(), new AbortController(), [] as string[]];
    return { clock, stop, seen };
  };

  it("ends when its time is over, and not before", async () => {
    const { clock, stop, seen } = begin();
    void nap(100, stop.signal, clock).then(() => seen.push("over"));
    await clock.advance(99);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(["over"]);
  });

  it("ends at once when the signal aborts, and leaves no timer behind", async () => {
    const { clock, stop } = begin();
    let timers = 0;
    const timer: ManualClock["timer"] = (afterMs, wake) => {
      timers++;
      const made = clock.timer(afterMs, wake);
      return { cancel: () => (timers--, made.cancel()) };
    };
    const napping = nap(100, stop.signal, { grain: clock.grain, now: () => clock.now(), timer });
    expect(timers).toBe(1);
    stop.abort();
    await napping;
    expect(timers).toBe(0);
  });

  it("does not begin if the signal has aborted", async () => {
    const { clock } = begin();
    await nap(100, AbortSignal.abort(), clock);
    expect(clock.now().mono).toBe(0);
  });
});

it("a signal is waited for, whether it aborts later or has aborted", async () => {
  const stop = new AbortController();
  const waiting = whenAborted(stop.signal);
  stop.abort();
  await waiting;
  await whenAborted(stop.signal);
});
