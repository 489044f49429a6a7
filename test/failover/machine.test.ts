import { describe, expect, it } from "vitest";
import type { FailoverRecord, Views } from "conclave/failover";
import { detect, isDown, UNSEEN } from "../../src/failover/detector.ts";
import { wakeAtMs } from "../../src/failover/machine.ts";
import { firstRecord } from "../../src/failover/record.ts";
import { ALL_UP, Desk, leading, PLAN, STEADY, up, vote } from "./desk.ts";

describe("a leader of the monitors", () => {
  it("fences, then reads positions, then chooses, promotes and repoints, and writes each step before it is begun", () => {
    const desk = leading(STEADY);
    expect(desk.see({ votes: [vote("m1"), vote("m3")] })).toEqual(["tell objectively-down", "write 5 fencing"]);
    expect(desk.on({ type: "written" })).toEqual(["take-seat"]);
    expect(desk.on({ type: "seat-taken", errand: desk.errand })).toEqual(["write 5 choosing"]);
    expect(desk.on({ type: "written" })).toEqual(["give-seat", "survey"]);
    const views: Views = { a: { is: "unknown" }, b: up("replica", 7), c: up("replica", 9) };
    desk.nowMs = 500;
    expect(desk.on({ type: "surveyed", errand: desk.errand, views })).toEqual(["tell chosen", "write 5 promoting"]);
    expect(desk.record.step).toMatchObject({ to: "c", position: 9, fencedBy: "seat" });
    expect(desk.on({ type: "written" })).toEqual(["give-seat"]);
    const promoted: Views = { b: up("replica", 7), c: up("primary", 9, { history: "h2" }) };
    expect(desk.see({ views: promoted })).toEqual([]);
    expect(desk.see({ views: promoted, holder: { server: "c", epoch: 4 } })).toEqual([]);
    expect(desk.see({ views: promoted, holder: { server: "c", epoch: 5 } })).toEqual(["write 5 repointing"]);
    expect(desk.record).toMatchObject({ primary: "c", histories: ["h2", "h"] });
    desk.on({ type: "written" });
    expect(desk.see({ views: { c: up("primary"), b: up("replica", 9) } })).toEqual([]);
    expect(desk.see({ views: { c: up("primary"), b: up("replica", 9, { follows: "c" }) } })).toEqual([
      "write 5 steady",
    ]);
  });

  it("gives every promotion a number that nobody has had, confirmed or not", () => {
    const choosing = { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" } as const;
    const desk = leading({ ...STEADY, generation: 7, step: choosing });
    desk.nowMs = 500;
    const views: Views = { b: up("replica", 7, { generation: 5 }), c: up("replica", 6, { generation: 5 }) };
    desk.on({ type: "surveyed", errand: desk.errand, views });
    expect(desk.record.generation).toBe(8);
    desk.on({ type: "written" });
    expect(desk.see({ views })).toEqual([]);
    // It has the number, and is a replica again: its promotion was in vain.
    expect(desk.see({ views: { ...views, b: up("replica", 8, { generation: 8 }) } })).toEqual(["write 5 fencing"]);
    expect(desk.record).toMatchObject({ generation: 8, attempts: [8], tried: ["b"], step: { at: "fencing" } });
    const first = leading({ ...firstRecord, step: { ...choosing, why: "first", from: undefined } });
    const all = up("replica", 3, { generation: 12, history: "s/12" });
    first.on({ type: "surveyed", errand: first.errand, views: { a: all, b: all, c: all } });
    expect(first.record).toMatchObject({ generation: 13, histories: ["s/12"] });
  });

  it("waits longer for a server that has handed over: it has everything", () => {
    const choosing = {
      at: "choosing",
      why: "order",
      from: "a",
      wish: { server: "b", isForced: false },
      fencedBy: "seat",
    };
    const desk = leading({ ...STEADY, step: choosing as FailoverRecord["step"] });
    const views: Views = { b: up("replica", 7), c: up("replica", 6) };
    desk.nowMs = PLAN.settleMs;
    expect(desk.on({ type: "surveyed", errand: desk.errand, views })).toEqual(["tell waiting"]);
    desk.nowMs = PLAN.handOverWithinMs;
    desk.on({ type: "tick" });
    expect(desk.on({ type: "surveyed", errand: desk.errand, views })).toEqual(["tell chosen", "write 4 promoting"]);
  });

  it("replaces a primary that fails before the others follow it", () => {
    const desk = leading({ ...STEADY, step: { at: "repointing", from: "b", to: "a" } });
    expect(desk.see({ votes: [vote("m1"), vote("m3")] })).toEqual(["tell objectively-down", "write 5 fencing"]);
  });

  it("learns the new name of its primary's history before the others have it for certain", () => {
    const desk = leading({ ...STEADY, step: { at: "repointing", from: "b", to: "a" } });
    const holder = { server: "a", epoch: 4 };
    const renamed = {
      ...ALL_UP,
      a: up("primary", 7, { history: "renamed" }),
      b: up("replica", 0, { isLinked: false }),
    };
    expect(desk.see({ views: renamed, holder })).toEqual(["write 4 repointing"]);
    expect(desk.record.histories).toEqual(["renamed", "h"]);
    const steady = leading({ ...STEADY, step: { at: "repointing", from: "b", to: "a" } });
    expect(steady.see({ views: { ...renamed, b: up("replica") }, holder })).toEqual(["write 4 steady"]);
    expect(steady.record.histories).toEqual(["renamed", "h"]);
    const unseated = leading({ ...STEADY, step: { at: "repointing", from: "b", to: "a" } });
    expect(unseated.see({ views: renamed })).toEqual([]);
  });

  it("tells of a second writable server once, and how much only that one has", () => {
    const plan = { ...PLAN, hasGuards: false };
    const record: FailoverRecord = { ...STEADY, primary: "b", histories: ["new", "old"], begunAt: 100 };
    const desk = leading(record, plan);
    const views = (position: number): Views => ({
      a: up("primary", position, { history: "old" }),
      b: up("primary", 200, { history: "new" }),
      c: up("replica", 200, { history: "new", follows: "b" }),
    });
    expect(desk.see({ views: views(142) })).toEqual(["tell two-writable", "follow a b"]);
    expect(desk.news).toEqual([{ is: "two-writable", servers: ["b", "a"], lost: { a: 42 } }]);
    expect(desk.see({ views: views(150) })).toEqual(["follow a b"]);
    const unknown = leading({ ...record, histories: ["new", "other"] }, plan);
    unknown.see({ views: views(142) });
    expect(unknown.news).toMatchObject([{ lost: {} }]);
  });

  it("counts only votes of configured monitors, each once, for this primary and this epoch", () => {
    const desk = leading(STEADY);
    for (const votes of [
      [vote("m1")],
      [vote("m1"), vote("m1")],
      [vote("m1"), vote("stranger")],
      [vote("m1"), vote("m2", 3)],
      [vote("m1"), vote("m2", 4, "b")],
    ])
      expect(desk.see({ votes })).toEqual([]);
  });

  it("ignores answers to what it asked before", () => {
    const desk = leading({ ...STEADY, step: { at: "fencing", why: "down", from: "a", wish: undefined } });
    expect(desk.on({ type: "seat-taken", errand: desk.errand - 1 })).toEqual([]);
    desk.on({ type: "seat-taken", errand: desk.errand });
    desk.on({ type: "written" });
    expect(desk.on({ type: "surveyed", errand: desk.errand - 1, views: ALL_UP })).toEqual([]);
  });

  it("goes on from where the leader before it died", () => {
    const at = (step: FailoverRecord["step"]): readonly string[] => {
      const desk = new Desk();
      desk.on({ type: "lead" });
      return desk.on({ type: "read", record: { ...STEADY, epoch: 5, step } });
    };
    expect(at({ at: "fencing", why: "down", from: "a", wish: undefined })).toEqual(["take-seat"]);
    const choosing = { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" } as const;
    expect(at(choosing)).toEqual(["give-seat", "survey"]);
    const promoting = { at: "promoting", why: "down", from: "a", to: "b", position: 7, fencedBy: "seat" } as const;
    expect(at(promoting)).toEqual(["give-seat"]);
    expect(at({ at: "repointing", from: "a", to: "b" })).toEqual([]);
  });

  it("sends a record again that was not answered, and does nothing else meanwhile", () => {
    const desk = leading(STEADY);
    desk.see({ votes: [vote("m1"), vote("m2")] });
    expect(desk.see({ votes: [vote("m1"), vote("m2")] })).toEqual([]);
    expect(desk.on({ type: "unanswered" })).toEqual(["write 5 fencing"]);
  });

  it("fences whom it chose in vain before it chooses again", () => {
    const promoting = { at: "promoting", why: "down", from: "a", to: "b", position: 7, fencedBy: "seat" } as const;
    const desk = leading({ ...STEADY, epoch: 5, step: promoting });
    expect(wakeAtMs(desk.state)).toBe(1000);
    desk.nowMs = 1000;
    expect(desk.on({ type: "tick" })).toEqual(["write 6 fencing"]);
    expect(desk.record).toMatchObject({ tried: ["b"], step: { at: "fencing", from: "b" } });
  });

  it("remembers who may have confirmed commits of the old primary until the next one is seen in its seat", () => {
    const sync = { sets: [{ primary: "a", confirmations: 1, promotable: ["b", "c"] }] };
    const choosing = { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" } as const;
    const desk = leading({ ...STEADY, epoch: 5, sync, step: choosing }, { confirmations: 1 });
    const views: Views = { a: { is: "unknown" }, b: up("replica", 7), c: up("replica", 9) };
    desk.nowMs = 500;
    desk.on({ type: "surveyed", errand: desk.errand, views });
    const ofC = { primary: "c", confirmations: 1, promotable: ["a", "b"] };
    expect(desk.record.sync?.sets).toEqual([...sync.sets, ofC]);
    desk.on({ type: "written" });
    desk.see({ views: { ...views, c: up("primary", 9) }, holder: { server: "c", epoch: 5 } });
    expect(desk.record).toMatchObject({ primary: "c", sync: { sets: [ofC] } });
  });

  it("does not fail over while it is paused, nor more often than allowed", () => {
    const votes = [vote("m1"), vote("m2")];
    const paused = leading({ ...STEADY, isPaused: true });
    expect([paused.see({ votes }), paused.see({ votes })]).toEqual([["tell waiting"], []]);
    const often = leading({ ...STEADY, recentMs: [990_000, 995_000] });
    expect([often.see({ votes }), often.see({ votes })]).toEqual([["tell refused"], []]);
    const later = leading({ ...STEADY, recentMs: [1_000, 995_000] });
    expect(later.see({ votes })).toEqual(["tell objectively-down", "write 5 fencing"]);
  });

  it("only tells in a dry run whom it would choose", () => {
    const desk = leading(STEADY, { isDryRun: true });
    const votes = [vote("m1"), vote("m2")];
    expect(desk.see({ votes })).toEqual(["tell objectively-down", "survey"]);
    expect(desk.see({ votes })).toEqual([]);
    const views: Views = { a: { is: "unknown" }, b: up("replica", 7), c: up("replica", 9) };
    expect(desk.on({ type: "surveyed", errand: desk.errand, views })).toEqual(["tell would-choose"]);
    const fresh = new Desk({ isDryRun: true });
    fresh.on({ type: "lead" });
    expect(fresh.on({ type: "read", record: undefined })).toEqual(["tell waiting"]);
  });

  it("writes and orders nothing in a dry run, at whatever step it finds a group", () => {
    const wish = { server: "b", isForced: false };
    const steps: readonly FailoverRecord["step"][] = [
      { at: "steady" },
      { at: "fencing", why: "down", from: "a", wish },
      { at: "handing-over", from: "a", to: "b" },
      { at: "choosing", why: "down", from: "a", wish, fencedBy: "seat" },
      { at: "promoting", why: "down", from: "a", to: "b", position: 7, fencedBy: "seat" },
      { at: "repointing", from: "a", to: "b" },
    ];
    const orders = [
      { id: "o1", kind: "switchover", to: "b", isForced: true },
      { id: "o2", kind: "pause" },
      { id: "o3", kind: "confirm", server: "a", epoch: 4 },
      undefined,
    ] as const;
    // b is the primary in its seat, and everybody follows it: whoever leads goes on from each of the steps.
    const views: Views = {
      a: up("replica", 7, { follows: "b" }),
      b: up("primary", 7, { history: "h2" }),
      c: up("replica", 7, { follows: "b" }),
    };
    for (const step of steps)
      for (const order of orders)
        for (const hasGuards of [true, false]) {
          const desk = leading(
            { ...STEADY, primary: step.at === "repointing" ? "b" : "a", step },
            { isDryRun: true, hasGuards },
          );
          desk.nowMs = 100_000;
          const asked = [
            ...desk.last,
            ...desk.see({ views, order, holder: { server: "b", epoch: 4 }, votes: [vote("m1"), vote("m2")] }),
            ...desk.on({ type: "tick" }),
          ];
          expect(asked.filter((word) => !word.startsWith("tell ") && word !== "survey")).toEqual([]);
        }
  });
});

describe("orders", () => {
  const order = { id: "o1", kind: "switchover", to: "b", isForced: false } as const;

  it("a switchover asks the primary to hand over, and chooses after the seat was granted", () => {
    const desk = leading(STEADY);
    expect(desk.see({ order })).toEqual(["write 5 handing-over"]);
    expect(desk.on({ type: "written" })).toEqual(["take-seat"]);
    expect(desk.on({ type: "seat-taken", errand: desk.errand })).toEqual(["write 5 choosing"]);
    expect(desk.record.step).toMatchObject({ why: "order", wish: { server: "b" } });
  });

  it("a switchover that takes too long is given up, and the primary stays", () => {
    const desk = leading(STEADY);
    desk.see({ order });
    desk.on({ type: "written" });
    desk.nowMs = 1000;
    expect(desk.on({ type: "tick" })).toEqual(["give-seat", "write 5 steady"]);
    expect(desk.record).toMatchObject({ primary: "a", order: { id: "o1", isDone: false } });
  });

  it("are dealt with once, and refused in words", () => {
    const desk = leading(STEADY);
    desk.see({ order: { ...order, to: "a" } });
    expect(desk.record.order).toEqual({ id: "o1", said: "a is the primary", isDone: false });
    desk.on({ type: "written" });
    expect(desk.see({ order })).toEqual([]);
    for (const [to, said] of [
      ["z", "there is no server z"],
      ["b", "b does not answer"],
      ["c", "c does not follow a now"],
    ] as const) {
      const other = leading(STEADY);
      const views: Views = { ...ALL_UP, b: { is: "unknown" }, c: up("replica", 7, { isLinked: false }) };
      other.see({ order: { ...order, to }, views });
      expect(other.record.order?.said).toContain(said);
      expect(other.record.step.at).toBe("steady");
    }
  });

  it("pause and resume are kept in the record", () => {
    const desk = leading(STEADY);
    desk.see({ order: { id: "o1", kind: "pause" } });
    expect(desk.record.isPaused).toBe(true);
    desk.on({ type: "written" });
    desk.see({ order: { id: "o2", kind: "resume" } });
    expect(desk.record).toMatchObject({ isPaused: false, order: { id: "o2", isDone: true } });
  });
});

describe("a monitor", () => {
  it("takes a primary for down that is silent, or says that it is a replica, for so long; anew for each epoch", () => {
    let state = detect(UNSEEN, STEADY, up("primary"), 0);
    state = detect(state, STEADY, { is: "unknown" }, 500);
    expect([isDown(state, 1000, 999), isDown(state, 1000, 1000)]).toEqual([false, true]);
    state = detect(state, STEADY, up("replica"), 1000);
    expect(isDown(state, 1000, 1000)).toBe(true);
    expect(isDown(detect(state, STEADY, up("primary"), 1100), 1000, 1100)).toBe(false);
    expect(isDown(detect(state, { ...STEADY, epoch: 5 }, { is: "unknown" }, 1100), 1000, 1100)).toBe(false);
  });
});
