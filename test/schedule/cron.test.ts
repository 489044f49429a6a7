// Patterns of cron by croner 11: what it does on the two nights on which clocks are set, and that its answers are what slots must be: the same to the same question.
import { Cron } from "croner";
import { elect } from "conclave";
import { schedule } from "conclave/schedule";
import { memory } from "conclave/stores/memory";
import { describe, expect, it } from "vitest";
import { cronSlots } from "../../src/schedule/cron.ts";
import type { NextSlot } from "../../src/schedule/slots.ts";

const HOUR_MS = 3_600_000;

function slots(next: NextSlot, fromIso: string, count: number): readonly string[] {
  const found: string[] = [];
  for (let slot = next(Date.parse(fromIso)); slot !== undefined && found.length < count; slot = next(slot))
    found.push(new Date(slot).toISOString().slice(0, 16));
  return found;
}

const inBerlin = (pattern: string): NextSlot => cronSlots(pattern, "Europe/Berlin", "test");

describe("a pattern of cron", () => {
  it("is read in UTC unless a time zone is named, whatever the host's is", () => {
    expect(slots(cronSlots("0 3 * * *", "UTC", "test"), "2026-07-01T00:00:00Z", 2)).toEqual([
      "2026-07-01T03:00",
      "2026-07-02T03:00",
    ]);
    expect(slots(inBerlin("0 3 * * *"), "2026-07-01T00:00:00Z", 2)).toEqual(["2026-07-01T01:00", "2026-07-02T01:00"]);
    expect(slots(inBerlin("0 3 * * *"), "2026-12-01T00:00:00Z", 1)).toEqual(["2026-12-01T02:00"]);
  });

  it("has seconds in front if it has six fields, and slots on whole seconds", () => {
    const next = cronSlots("*/10 * * * * *", "UTC", "test");
    expect(new Date(next(Date.parse("2026-07-01T00:00:09.999Z")) ?? 0).toISOString()).toBe("2026-07-01T00:00:10.000Z");
    expect(new Date(next(Date.parse("2026-07-01T00:00:10.000Z")) ?? 0).toISOString()).toBe("2026-07-01T00:00:20.000Z");
  });

  it("that names a time which the night in spring leaves out runs at the hour that follows, once", () => {
    // Berlin, 29 March 2026: after 01:59 comes 03:00, which is 01:00 UTC.
    expect(slots(inBerlin("30 2 * * *"), "2026-03-28T12:00:00Z", 2)).toEqual(["2026-03-29T01:00", "2026-03-30T00:30"]);
    expect(slots(inBerlin("*/30 * * * *"), "2026-03-29T00:00:00Z", 3)).toEqual([
      "2026-03-29T00:30",
      "2026-03-29T01:00",
      "2026-03-29T01:30",
    ]);
  });

  it("that names one time of the hour which the night in autumn has twice runs the first time only; a repeating one runs in both hours", () => {
    // Berlin, 25 October 2026: 02:00 to 02:59 comes twice, from 00:00 and from 01:00 UTC.
    expect(slots(inBerlin("30 2 * * *"), "2026-10-24T12:00:00Z", 2)).toEqual(["2026-10-25T00:30", "2026-10-26T01:30"]);
    expect(slots(inBerlin("*/30 * * * *"), "2026-10-25T00:00:00Z", 4)).toEqual([
      "2026-10-25T00:30",
      "2026-10-25T01:00",
      "2026-10-25T01:30",
      "2026-10-25T02:00",
    ]);
  });

  it.each(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])(
    "has the same slots from wherever it is asked, also on those nights: %s",
    (timeZone) => {
      const nights = ["2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04"];
      for (const pattern of ["30 2 * * *", "*/30 * * * *", "15 1-3 * * *", "*/7 * * * *"]) {
        const next = cronSlots(pattern, timeZone, "test");
        for (const night of nights) {
          const fromMs = Date.parse(`${night}T00:00:00Z`) - 14 * HOUR_MS;
          const untilMs = fromMs + 36 * HOUR_MS;
          let expected = next(fromMs);
          for (let askedMs = fromMs; askedMs < untilMs; askedMs += 11 * 60_000 + 7) {
            while (expected !== undefined && expected <= askedMs) {
              const after: number | undefined = next(expected);
              expect(after).toBeGreaterThan(expected);
              expected = after;
            }
            expect(next(askedMs)).toBe(expected);
          }
        }
      }
    },
  );

  it("has the slots that croner itself names", () => {
    const job = new Cron("*/7 3 * * 1-5", { timezone: "Europe/Berlin", paused: true });
    const named = job.nextRuns(40, new Date("2026-10-20T00:00:00Z")).map((date) => date.toISOString().slice(0, 16));
    expect(slots(inBerlin("*/7 3 * * 1-5"), "2026-10-20T00:00:00Z", 40)).toEqual(named);
  });

  it("that is none is refused, and so is a time zone that is none", () => {
    const election = elect("x", { store: memory() });
    const work = async (): Promise<void> => {};
    expect(() => schedule(election, "61 * * * *", work)).toThrow(/CONFIG_INVALID|not a pattern of cron/);
    expect(() => schedule(election, { cron: "0 3 * * *", timeZone: "Europe/Bonn" }, work)).toThrow(/Europe\/Bonn/);
  });
});
