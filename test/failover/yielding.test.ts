// A leader of the monitors that does not see enough servers for a choice lets a monitor lead that does, and leadership is not passed around without end.
import { describe, expect, it } from "vitest";
import type { FailoverRecord, Views } from "conclave/failover";
import { formatVote, parseSees, parseVote } from "../../src/failover/record-text.ts";
import { type Desk, leading, PLAN, STEADY, up } from "./desk.ts";

const CHOOSING: FailoverRecord = {
  ...STEADY,
  epoch: 5,
  sync: { sets: [{ primary: "a", confirmations: 1, promotable: ["b", "c"] }] },
  step: { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" },
};
/** This leader is cut off from c. */
const ONLY_B: Views = { a: { is: "unknown" }, b: up("replica", 9), c: { is: "unknown" } };

/** Surveys at this time, and says what it does when it hears of the reports. */
function blocked(desk: Desk, views: Views, atMs: number, reports: Readonly<Record<string, readonly string[]>>) {
  desk.nowMs = atMs;
  desk.on({ type: "tick" });
  desk.on({ type: "surveyed", errand: desk.errand, views });
  return desk.see({ views, reports });
}

describe("a leader that does not see enough servers", () => {
  it("gives its term up for a monitor that does, after it has waited, and writes that down first", () => {
    const desk = leading(CHOOSING, { confirmations: 1 });
    const reports = { m2: ["b"], m3: ["b", "c"] };
    expect(blocked(desk, ONLY_B, PLAN.yieldAfterMs - 1, reports)).toEqual([]);
    expect(blocked(desk, ONLY_B, PLAN.yieldAfterMs, reports)).toEqual(["tell yields", "write 5 choosing"]);
    expect(desk.news).toMatchObject([{ is: "yields", to: "m3", pauseMs: PLAN.yieldAfterMs }]);
    expect(desk.record.yields).toBe(1);
    expect(desk.on({ type: "unanswered" })).toEqual(["write 5 choosing"]);
    expect(desk.on({ type: "written" })).toEqual(["resign"]);
  });

  it("stays if each of the others sees another half: none of them could choose", () => {
    const desk = leading(CHOOSING, { confirmations: 1 });
    for (const reports of [{}, { m2: ["c"] }, { m2: ["c"], m3: ["b"] }, { m2: [], stranger: ["b", "c"] }])
      expect(blocked(desk, ONLY_B, 60_000, reports)).toEqual([]);
  });

  it("gives up for a monitor that sees the old primary, which has everything", () => {
    const desk = leading(CHOOSING, { confirmations: 1 });
    expect(blocked(desk, ONLY_B, PLAN.yieldAfterMs, { m2: ["a"] })).toEqual(["tell yields", "write 5 choosing"]);
  });

  it("stays if the server has said to this leader as well that it has other data", () => {
    const desk = leading(CHOOSING, { confirmations: 1 });
    const views: Views = { ...ONLY_B, c: up("replica", 9, { history: "other" }) };
    expect(blocked(desk, views, 60_000, { m2: ["b", "c"] })).toEqual([]);
  });

  it("stays while it can choose itself, or only waits for servers that may come", () => {
    const choosing = { ...CHOOSING, sync: undefined };
    const desk = leading(choosing, { settleMs: 10_000 });
    expect(blocked(desk, ONLY_B, 5000, { m2: ["a", "b", "c"] })).toEqual([]);
  });

  it("waits longer when every monitor has had its turn, and says for how long", () => {
    const pauseAfter = (yields: number): number => {
      const desk = leading({ ...CHOOSING, yields }, { confirmations: 1 });
      for (let atMs = PLAN.yieldAfterMs; ; atMs += PLAN.yieldAfterMs)
        if (blocked(desk, ONLY_B, atMs, { m3: ["b", "c"] }).length > 0) return atMs / PLAN.yieldAfterMs;
    };
    expect([0, 2, 3, 5, 6, 9, 12, 15, 18, 1000].map(pauseAfter)).toEqual([1, 1, 2, 2, 4, 8, 16, 32, 32, 32]);
    const desk = leading({ ...CHOOSING, yields: 2 }, { confirmations: 1 });
    blocked(desk, ONLY_B, PLAN.yieldAfterMs, { m3: ["b", "c"] });
    expect(desk.news).toMatchObject([{ is: "yields", pauseMs: 2 * PLAN.yieldAfterMs }]);
  });

  it("begins to count anew when somebody was chosen", () => {
    const desk = leading({ ...CHOOSING, yields: 7 }, { confirmations: 1 });
    desk.nowMs = PLAN.settleMs;
    const views: Views = { ...ONLY_B, c: up("replica", 8) };
    desk.on({ type: "surveyed", errand: desk.errand, views });
    expect(desk.record).toMatchObject({ step: { at: "promoting", to: "b" }, yields: undefined });
  });
});

describe("what a monitor says in its seat", () => {
  it("is its vote, and the servers that answer it", () => {
    const text = formatVote({ primary: "a", epoch: 4 }, ["b", "c"]);
    expect(parseVote("m1", text)).toEqual({ monitor: "m1", primary: "a", epoch: 4 });
    expect(parseSees(text)).toEqual(["b", "c"]);
    expect(parseVote("m1", formatVote(undefined, ["primary"]))).toBeUndefined();
  });

  it.each([undefined, "null", "{}", '{"primary":"a","epoch":4}', '{"sees":"b"}', '{"sees":[1]}', "?"])(
    "says nothing of servers in %s",
    (text) => {
      expect(parseSees(text)).toEqual([]);
    },
  );
});
