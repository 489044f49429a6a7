// The world of STONITH: the real machine among kills, pauses, cuts and power failures, devices that fail, hang and lie, late shooters, and humans.
import { formatEvent, huntNamed, huntSeeds, missedTallies } from "conclave/simulator";
import { describe, expect, it } from "vitest";
import { StonithJudge } from "../../../src/simulator/stonith/judge.ts";
import { drawStonithWorld } from "../../../src/simulator/stonith/spec.ts";
import { StonithStore } from "../../../src/simulator/stonith/store.ts";
import { NO_RECORD } from "../../../src/stonith/record.ts";
import { acted, intent, stint } from "../../stonith/desk.ts";

describe("the hunt for STONITH", () => {
  it(
    "breaks no promise in a thousand worlds, in which devices lie and shooters come late",
    { timeout: 600_000 },
    () => {
      const report = huntSeeds({ kind: "hunt", name: "stonith", fromSeed: 1, count: 1000, isControl: false });
      expect(report.findings).toEqual([]);
      expect(missedTallies(huntNamed("stonith"), report.tallies, report.seeds)).toEqual([]);
      expect(new Set(report.hashes).size).toBe(1000);
    },
  );

  it("tells the same story for the same seed", () => {
    const told = (seed: number): string =>
      huntNamed("stonith").run(seed, { isRecorded: true }).trace.map(formatEvent).join("\n");
    expect(told(7)).toBe(told(7));
    expect(told(7)).toContain("begins the work of term 1");
  });
});

describe("the judge of that world", () => {
  const plan = { ...drawStonithWorld(1).plan, maxOff: 1, storeMembers: ["a", "b", "c"] };
  const found = (look: (judge: StonithJudge) => void): string | undefined => {
    const judge = new StonithJudge(plan, undefined);
    look(judge);
    return judge.violation?.invariant;
  };
  const aim = { by: stint("b", "5"), node: "a", intent: "4.a" };
  const record = { ...NO_RECORD, intents: [intent("a", [stint("b", "5")])] };
  const hit = { aim, leader: "b", isBanned: true, record, shotDown: ["a"] };

  it("sees two that act, and one that begins without being written down", () => {
    const alone = { ...NO_RECORD, acting: [acted("b", "5")] };
    expect(found((judge) => judge.begins(stint("b", "5"), [], alone, 0))).toBeUndefined();
    expect(found((judge) => judge.begins(stint("b", "5"), [stint("a", "4")], alone, 0))).toBe("one-acts");
    expect(found((judge) => judge.begins(stint("b", "5"), [], NO_RECORD, 0))).toBe("acting-is-written");
    const both = { ...NO_RECORD, acting: [acted("a", "4"), acted("b", "5")] };
    expect(found((judge) => judge.applied(both, alone, [stint("a", "4")], 0))).toBe("cleared-is-over");
    expect(found((judge) => judge.applied(both, alone, [stint("b", "5")], 0))).toBeUndefined();
  });

  it("sees a shot that hits the wrong node, or comes from the wrong term", () => {
    expect(found((judge) => judge.hits(hit, 0))).toBeUndefined();
    expect(found((judge) => judge.hits({ ...hit, leader: "a" }, 0))).toBe("no-leader-shot");
    expect(found((judge) => judge.hits({ ...hit, isBanned: false }, 0))).toBe("shot-while-banned");
    expect(found((judge) => judge.hits({ ...hit, record: NO_RECORD }, 0))).toBe("shot-by-joined");
    expect(found((judge) => judge.hits({ ...hit, aim: { ...aim, by: stint("a", "5") } }, 0))).toBe("never-own-node");
    expect(found((judge) => judge.hits({ ...hit, shotDown: ["a", "d"] }, 0))).toBe("max-off");
    const many = new StonithJudge({ ...plan, maxOff: 3 }, undefined);
    many.hits({ ...hit, shotDown: ["a", "c"] }, 0);
    expect(many.violation?.invariant).toBe("store-quorum");
  });

  it("sees a ban that is lifted too early", () => {
    expect(found((judge) => judge.lifts("a", [aim], 0))).toBe("lift-when-quiet");
    expect(found((judge) => judge.lifts("c", [aim], 0))).toBeUndefined();
  });
});

describe("the store of that world", () => {
  it("takes nothing from a banned node, and a ban only from the term in the seat", () => {
    const store = new StonithStore<{ readonly incarnation: number }>();
    const { token } = store.seat.grant({ incarnation: 0 }, 1000);
    const ban = { token, n: 1, over: undefined, value: true };
    expect(store.writeBan("b", "b", ban)).toEqual({ is: "seat-lost" });
    expect(store.writeBan("b", "a", { ...ban, token: token + 1 })).toEqual({ is: "seat-lost" });
    expect(store.writeBan("b", "a", ban)).toMatchObject({ is: "written" });
    expect(store.bans).toEqual(["a"]);
    expect(store.note("a", { settled: [stint("a", "4")], gone: [] })).toBe(false);
    expect(store.writeRecord("a", { token, n: 1, over: undefined, value: NO_RECORD })).toEqual({ is: "seat-lost" });
    store.writeBan("b", "a", { ...ban, n: 2, over: 1, value: false });
    expect(store.writeBan("b", "a", ban), "a late ban of the same term").toEqual({ is: "conflict" });
    expect(store.bans).toEqual([]);
  });
});
