// The world of schedules: the real machine among kills, pauses, takeovers, marks without an answer and clocks that differ.
import { formatEvent, huntNamed, huntSeeds, missedTallies } from "conclave/simulator";
import { describe, expect, it } from "vitest";
import { ScheduleSeat } from "../../../src/simulator/schedule/seat.ts";

const mark = { slotMs: 1000, state: "begun", atMs: 1000, nextMs: 2000 } as const;

describe("the hunt for schedules", () => {
  it("breaks no promise in a thousand worlds, in which slots are lost, repeated and made up for", () => {
    const report = huntSeeds({ kind: "hunt", name: "schedule", fromSeed: 1, count: 1000, isControl: false });
    expect(report.findings).toEqual([]);
    expect(missedTallies(huntNamed("schedule"), report.tallies, report.seeds)).toEqual([]);
    expect(new Set(report.hashes).size).toBe(1000);
  });

  it("prints which slots ran, were lost, were repeated; the same for the same seed", () => {
    const told = (seed: number): string | undefined =>
      huntNamed("schedule").run(seed, { isRecorded: true }).trace.map(formatEvent).at(-1);
    const lines = Array.from({ length: 40 }, (_, seed) => told(seed + 1));
    expect(
      lines.every((line) => /slots: \d+ ran; lost: (?:none|[\d ]+); repeated: (?:none|[\d ]+)$/.test(line ?? "")),
    ).toBe(true);
    expect(lines.some((line) => /lost: \d/.test(line ?? ""))).toBe(true);
    expect(lines.some((line) => /repeated: \d/.test(line ?? ""))).toBe(true);
    expect(told(7)).toBe(told(7));
  });

  it("says that it has exercised too little, if it has", () => {
    expect(missedTallies(huntNamed("schedule"), {}, 1000)).toContain(
      "lost: 0 in 1000 seeds, at least 100 in 1000 were expected",
    );
    expect(missedTallies(huntNamed("schedule"), {}, 10)).toEqual([]);
  });
});

describe("the store of that world", () => {
  it("takes a mark that is sent again for the same, and refuses one of a term that was replaced, or over something else", () => {
    const seat = new ScheduleSeat();
    const token = seat.grant();
    const first = { token, n: 1, over: undefined, value: mark };
    expect(seat.write(first)).toEqual({ is: "written", version: 1, isApplied: true });
    expect(seat.write(first)).toEqual({ is: "written", version: 1, isApplied: false });
    expect(seat.write({ token, n: 2, over: undefined, value: mark })).toEqual({ is: "conflict" });
    seat.free(token);
    expect(seat.write({ token, n: 2, over: 1, value: mark })).toEqual({ is: "seat-lost" });
    seat.grant();
    expect(seat.write({ token, n: 2, over: 1, value: mark })).toEqual({ is: "seat-lost" });
  });
});
