// What forbids a shot.
import { describe, expect, it } from "vitest";
import { defaultMaxOff } from "../../src/stonith/limits.ts";
import { acted, intent, leading, OFF, PLAN, stint } from "./desk.ts";

describe("what forbids a shot", () => {
  it("at most maxOff nodes are off, or to be off, at one time; one that is on again does not count", () => {
    const desk = leading({
      acting: [acted("a", "4")],
      intents: [intent("c", [stint("d", "3")], { off: OFF })],
      off: [{ node: "e", since: "1.1" }],
    });
    expect(desk.tick(300)).toEqual(["look e"]);
    expect(desk.on({ type: "looked", on: [] })).toEqual([]);
    expect(desk.told("refused")).toContain("a, c, e would be");
    expect(desk.tick(3000)).toEqual(["look e"]);
    expect(desk.on({ type: "looked", on: ["e", "d"] })).toEqual(["write acting a4 | c<3!"]);
    expect(desk.record.off.map(({ node }) => node)).toEqual(["e"]);
    expect(desk.written()).toEqual(["write acting a4 | c<3! a<5"]);
  });

  it("maxOff leaves a majority of the configured nodes, and is one at least", () => {
    expect([1, 2, 3, 4, 5, 7].map((count) => defaultMaxOff(Array.from({ length: count }, String)))).toEqual([
      1, 1, 1, 1, 2, 3,
    ]);
  });

  it("never so many that a store on these nodes loses its quorum", () => {
    const plan = { maxOff: 5, storeMembers: ["a", "b", "c"] };
    const desk = leading({ acting: [acted("a", "4")], off: [{ node: "c", since: "1.1" }] }, plan);
    desk.tick(300);
    desk.on({ type: "looked", on: [] });
    expect(desk.told("refused")).toContain("1 of its 3 servers left");
    const other = leading({ acting: [acted("d", "4")], off: [{ node: "c", since: "1.1" }] }, plan);
    expect(other.tick(300)).toEqual(["write acting d4 | d<5"]);
  });

  it("at most so many within a window, also by a clock that is ahead", () => {
    const recentMs = [9_990_000, 10_030_000, 9_941_000];
    const desk = leading({ acting: [acted("a", "4")], recentMs });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("refused")).toContain("3 shots within 60 s");
    desk.wallMs += 2000;
    expect(desk.tick(3000)).toEqual(["write acting a4 | a<5"]);
  });

  it("a node that is not configured", () => {
    const desk = leading({ acting: [acted("stranger", "4")] }, { devices: [...PLAN.devices, "stranger"] });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("refused")).toContain("not configured");
  });
});
