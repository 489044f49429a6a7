// clonePlain: a deep copy of what a node's state may hold, and a refusal of what it may not.
import { describe, expect, it } from "vitest";
import { cloneGraph, clonePlain } from "../../src/base/clone.ts";

describe("clonePlain", () => {
  const state = {
    number: 1,
    text: "a",
    nothing: undefined,
    list: [{ deep: [1, 2] }],
    map: new Map([[1, { votes: new Set([3]) }]]),
    typed: new Float64Array([1, 2]),
  };

  it("copies all of it", () => {
    expect(clonePlain(state)).toEqual(state);
  });

  it("shares nothing with the original", () => {
    const copy = clonePlain(state);
    copy.list[0]?.deep.push(3);
    copy.map.get(1)?.votes.add(4);
    copy.typed[0] = 9;
    expect(state.list).toEqual([{ deep: [1, 2] }]);
    expect(state.map.get(1)?.votes).toEqual(new Set([3]));
    expect(state.typed[0]).toBe(1);
  });

  it.each([[new Date(0)], [() => 1], [{ inside: /pattern/ }]])("refuses what is not plain: %s", (value) => {
    expect(() => clonePlain({ value })).toThrow(/this is a bug in conclave/);
  });
});

describe("cloneGraph", () => {
  const shared = { until: 5 };
  const state = {
    session: shared,
    terms: new Map([["x", { lifeline: shared, list: [shared] }]]),
    seen: new Set([shared]),
  };

  it("copies all of it, and what was one object is one object again", () => {
    const copy = cloneGraph(state);
    expect(copy).toEqual(state);
    expect(copy.session).not.toBe(shared);
    expect(copy.terms.get("x")?.lifeline).toBe(copy.session);
    expect(copy.terms.get("x")?.list[0]).toBe(copy.session);
    expect(copy.seen.has(copy.session)).toBe(true);
  });

  it("shares what has a class of its own", () => {
    const error = new Error("no");
    expect(cloneGraph({ error }).error).toBe(error);
  });

  it("refuses a function", () => {
    expect(() => cloneGraph({ act: () => 1 })).toThrow("a function in a state");
  });
});
