// The world of partitions: the real machines of members and controllers among kills, pauses, cuts, drains, transfers, and writes that come late.
import { formatEvent, huntNamed, huntSeeds, missedTallies } from "conclave/simulator";
import { describe, expect, it } from "vitest";
import { PartitionSeat, type SimSession } from "../../../src/simulator/partitions/store.ts";

describe("the hunt for partitions", () => {
  it("breaks no promise in five hundred worlds, in which partitions are revoked, handed over and taken from the dead", () => {
    const report = huntSeeds({ kind: "hunt", name: "partitions", fromSeed: 1, count: 500, isControl: false });
    expect(report.findings).toEqual([]);
    const doubled = Object.fromEntries(Object.entries(report.tallies).map(([name, count]) => [name, 2 * count]));
    expect(missedTallies(huntNamed("partitions"), doubled, 1000)).toEqual([]);
    expect(new Set(report.hashes).size).toBe(500);
  }, 120_000);

  it("tells the same story for the same seed", () => {
    const told = (seed: number): readonly (string | undefined)[] =>
      huntNamed("partitions").run(seed, { isRecorded: true }).trace.map(formatEvent);
    expect(told(7)).toEqual(told(7));
    expect(told(7).some((line) => /m\d {2}begins \d+ at \d+\.\d+$/.test(line ?? ""))).toBe(true);
  });

  it("says that it has exercised too little, if it has", () => {
    expect(missedTallies(huntNamed("partitions"), {}, 1000)).toContain(
      "revoked: 0 in 1000 seeds, at least 1000 in 1000 were expected",
    );
  });
});

describe("the store of that world", () => {
  it("takes a memo that is sent again for the same, and refuses one of a term that was replaced, or over something else", () => {
    const session: SimSession = { who: 0, deadlineMs: 100, isEnded: false, isReleased: false };
    const seat = new PartitionSeat<string>();
    const token = seat.grant(session);
    const first = { token, n: 1, over: undefined, value: "a" };
    expect(seat.write(0, first)).toEqual({ is: "written", version: 1, isApplied: true });
    expect(seat.write(0, first)).toEqual({ is: "written", version: 1, isApplied: false });
    expect(seat.write(0, { ...first, n: 2 })).toEqual({ is: "conflict" });
    seat.grant(session);
    expect(seat.write(0, { token, n: 2, over: 1, value: "b" })).toEqual({ is: "seat-lost" });
  });
});
