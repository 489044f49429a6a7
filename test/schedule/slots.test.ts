import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dueSlots, everyInterval, type NextSlot } from "../../src/schedule/slots.ts";

const DAY_MS = 86_400_000;

/** What `dueSlots` must find, by asking for every slot. */
function allDue(next: NextSlot, afterMs: number, nowMs: number): readonly number[] {
  const found: number[] = [];
  for (let slot = next(afterMs); slot !== undefined && slot <= nowMs; slot = next(slot)) found.push(slot);
  return found;
}

describe("an interval", () => {
  it("has its slots at multiples since the epoch, whenever it is asked", () => {
    const next = everyInterval(60_000);
    expect(next(0)).toBe(60_000);
    expect(next(59_999)).toBe(60_000);
    expect(next(60_000)).toBe(120_000);
    expect(next(-1)).toBe(0);
    expect(next(-60_000)).toBe(0);
  });

  it("is moved by its offset", () => {
    const next = everyInterval(DAY_MS, 3 * 3_600_000);
    expect(new Date(next(Date.parse("2026-11-16T03:00:00Z")) ?? 0).toISOString()).toBe("2026-11-17T03:00:00.000Z");
    expect(new Date(next(Date.parse("2026-11-16T02:59:59.999Z")) ?? 0).toISOString()).toBe("2026-11-16T03:00:00.000Z");
  });

  it("ends where dates end", () => {
    expect(everyInterval(1000)(8.64e15)).toBeUndefined();
  });
});

describe("the slots that are due", () => {
  const irregular: NextSlot = (afterMs) => [5, 6, 7, 1000, 1001, 90_000, 90_001, 90_002].find((slot) => slot > afterMs);

  it("are those after one instant and not after another, the newest of them, oldest first", () => {
    expect(dueSlots(irregular, 0, 4, 9)).toEqual({ slots: [], leftOut: 0 });
    expect(dueSlots(irregular, 5, 1000, 9)).toEqual({ slots: [6, 7, 1000], leftOut: 0 });
    expect(dueSlots(irregular, 5, 1000, 2)).toEqual({ slots: [7, 1000], leftOut: 1 });
    expect(dueSlots(irregular, 90_002, 1e9, 2)).toEqual({ slots: [], leftOut: 0 });
  });

  it("are found as by asking for every one", () => {
    const times = fc.integer({ min: 0, max: 500_000 });
    fc.assert(
      fc.property(
        fc.uniqueArray(times, { minLength: 1, maxLength: 60 }),
        times,
        times,
        fc.integer({ min: 1, max: 8 }),
        (slots, a, b, most) => {
          const sorted = slots.toSorted((x, y) => x - y);
          const next: NextSlot = (afterMs) => sorted.find((slot) => slot > afterMs);
          const [from, to] = [Math.min(a, b), Math.max(a, b)];
          const all = allDue(next, from, to);
          const due = dueSlots(next, from, to, most);
          expect(due.slots).toEqual(all.slice(-most));
          expect(due.leftOut).toBe(Math.max(0, all.length - most));
        },
      ),
    );
  });

  it("of ten years of seconds are found without asking for each", () => {
    let asked = 0;
    const seconds = everyInterval(1000);
    const next: NextSlot = (afterMs) => {
      asked++;
      return seconds(afterMs);
    };
    const now = 3650 * DAY_MS;
    const due = dueSlots(next, 0, now, 1000);
    expect(due.slots).toHaveLength(1000);
    expect(due.leftOut).toBe(10_000); // and more, which are not counted
    expect(asked).toBeLessThan(15_000);
  });
});
