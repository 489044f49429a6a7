// The world of failovers: the real machines of leader and guard among kills, pauses, cuts, a store that is away, services that are mute and services that forget.
import { formatEvent, huntNamed, huntSeeds, missedTallies } from "conclave/simulator";
import { describe, expect, it } from "vitest";
import { RecordShelf } from "../../../src/simulator/failover/record-shelf.ts";
import { firstRecord } from "../../../src/failover/record.ts";

describe("the hunt for failovers", () => {
  it("breaks no promise in a thousand worlds, in which leaders die between any two steps", () => {
    const report = huntSeeds({ kind: "hunt", name: "failover", fromSeed: 1, count: 1000, isControl: false });
    expect(report.findings).toEqual([]);
    expect(missedTallies(huntNamed("failover"), report.tallies, report.seeds)).toEqual([]);
    expect(new Set(report.hashes).size).toBe(1000);
  }, 600_000);

  it("tells the same story for the same seed", () => {
    const told = (seed: number): string =>
      huntNamed("failover").run(seed, { isRecorded: true }).trace.map(formatEvent).join("\n");
    expect(told(7)).toBe(told(7));
    expect(told(7)).toMatch(/writes epoch 1: .*"promoting"/);
  });
});

describe("the record of that world", () => {
  it("is written only by the leader in its seat, and once for each number", () => {
    const shelf = new RecordShelf();
    const record = firstRecord;
    const first = { token: 1, n: 1, over: undefined, value: record };
    expect(shelf.write(1, first)).toEqual({ is: "written", version: 1, isApplied: true });
    expect(shelf.write(1, first)).toEqual({ is: "written", version: 1, isApplied: false });
    expect(shelf.write(2, { ...first, n: 2, over: 1 })).toEqual({ is: "seat-lost" });
    expect(shelf.write(1, { ...first, n: 2, over: undefined })).toEqual({ is: "conflict" });
  });
});
