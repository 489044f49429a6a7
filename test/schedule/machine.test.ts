import { describe, expect, it } from "vitest";
import {
  AWAY,
  type ScheduleMoment,
  type SlotNews,
  type Plan,
  type ScheduleEffect,
  type ScheduleInput,
  type ScheduleState,
  stepSchedule,
  wakeAtMs,
} from "../../src/schedule/machine.ts";
import type { Mark } from "../../src/schedule/mark.ts";
import { everyInterval } from "../../src/schedule/slots.ts";

const PLAN: Plan = { next: everyInterval(10), missed: "all", missedMax: 5, mark: "before" };

function markOf(slotMs: number, state: Mark["state"] = "done"): Mark {
  return { slotMs, state, atMs: slotMs, nextMs: undefined };
}

/** One machine, step by step; what it asks for and says is read off in words. */
class Desk {
  state: ScheduleState = AWAY;
  readonly #plan: Plan;

  constructor(plan: Partial<Plan> = {}) {
    this.#plan = { ...PLAN, ...plan };
  }

  at(wallMs: number, input: ScheduleInput, moment: Partial<ScheduleMoment> = {}): readonly string[] {
    const now: ScheduleMoment = { wallMs, isLeading: true, isHeld: true, ...moment };
    const { state, effects } = stepSchedule(this.#plan, this.state, input, now);
    this.state = state;
    return effects.map(inWords);
  }
}

function inWords(effect: ScheduleEffect): string {
  switch (effect.type) {
    case "read":
      return "read";
    case "write":
      return `write ${effect.mark.slotMs} ${effect.mark.state}`;
    case "begin":
      return `begin ${effect.slot.slotMs}${effect.slot.isCatchUp ? " late" : ""}`;
    case "tell":
      return `tell ${newsInWords(effect.news)}`;
  }
}

function newsInWords(news: SlotNews): string {
  const { is, ...facts } = news;
  return [is, ...Object.values(facts)].join(" ");
}

/** Leads from `wallMs` on, and finds this mark. */
function leading(wallMs: number, mark: Mark | undefined, plan: Partial<Plan> = {}): [Desk, readonly string[]] {
  const desk = new Desk(plan);
  expect(desk.at(wallMs, { type: "lead" })).toEqual(["read"]);
  return [desk, desk.at(wallMs, { type: "read", mark })];
}

const settled = (outcome: "done" | "failed" | "stopped"): ScheduleInput => ({ type: "settled", outcome });

describe("the first term of all", () => {
  it("writes an initial mark, so that a slot that falls into a gap before the second term is known to be missed", () => {
    const [desk, effects] = leading(13, undefined);
    expect(effects).toEqual(["write 13 initial"]);
    expect(desk.at(14, { type: "written" })).toEqual(["tell waiting 20"]);
    expect(wakeAtMs(desk.state)).toBe(20);
    const [, second] = leading(25, markOf(13, "initial"));
    expect(second).toEqual(["write 20 begun"]);
  });
});

describe("mark before", () => {
  it("begins a slot only on the answer that its mark is written, and notes its end", () => {
    const [desk, effects] = leading(20, markOf(10));
    expect(effects).toEqual(["write 20 begun"]);
    expect(desk.at(21, { type: "tick" })).toEqual([]);
    expect(desk.at(22, { type: "written" })).toEqual(["tell begun 20 false", "begin 20"]);
    expect(desk.at(23, settled("done"))).toEqual(["tell ended 20 done", "write 20 done"]);
    expect(desk.at(24, { type: "written" })).toEqual(["tell waiting 30"]);
  });

  it("sends a mark without an answer again, and begins nothing in the meantime", () => {
    const [desk] = leading(20, markOf(10));
    expect(desk.at(25, { type: "unanswered" })).toEqual(["write 20 begun"]);
    expect(desk.at(45, { type: "unanswered" })).toEqual(["write 20 begun"]);
    expect(desk.at(46, { type: "written" })).toEqual(["tell begun 20 false", "begin 20"]);
  });

  it("asks again whether it leads once the mark is written, and does not begin if it does not", () => {
    const [desk] = leading(20, markOf(10));
    expect(desk.at(29, { type: "written" }, { isLeading: false })).toEqual([]);
    expect(desk.state).toEqual(AWAY);
  });

  it("begins nothing in a term that ended while the mark was under way", () => {
    const [desk] = leading(20, markOf(10));
    expect(desk.at(21, { type: "leave" })).toEqual([]);
    expect(desk.at(22, { type: "written" })).toEqual([]);
  });

  it("tells of a slot that an earlier term has begun and not ended, and does not begin it again", () => {
    const [, effects] = leading(21, markOf(20, "begun"));
    expect(effects).toEqual(["tell unfinished 20", "tell waiting 30"]);
  });

  it("counts a work that rejected as run", () => {
    const [desk] = leading(20, markOf(10));
    desk.at(20, { type: "written" });
    expect(desk.at(21, settled("failed"))).toEqual(["tell ended 20 failed", "write 20 failed"]);
  });
});

describe("mark after", () => {
  const plan = { mark: "after" } as const;

  it("begins a due slot at once, and passes it when its work has settled", () => {
    const [desk, effects] = leading(20, markOf(10), plan);
    expect(effects).toEqual(["tell begun 20 false", "begin 20"]);
    expect(desk.at(25, settled("done"))).toEqual(["tell ended 20 done", "write 20 done"]);
  });

  it("does not pass a slot whose work was stopped with its term, nor one whose term is lost", () => {
    for (const [outcome, isHeld] of [
      ["stopped", true],
      ["done", false],
    ] as const) {
      const [desk] = leading(20, markOf(10), plan);
      desk.at(22, { type: "leave" });
      expect(desk.at(25, settled(outcome), { isLeading: false, isHeld })).toEqual([`tell ended 20 ${outcome}`]);
      expect(desk.state).toEqual(AWAY);
    }
  });

  it("passes a slot whose work was done in the drain of its term", () => {
    const [desk] = leading(20, markOf(10), plan);
    desk.at(22, { type: "leave" });
    expect(desk.at(23, settled("done"), { isLeading: false })).toEqual(["tell ended 20 done", "write 20 done"]);
    expect(desk.state).toEqual(AWAY);
  });

  it("begins nothing if it does not lead when a slot is due", () => {
    const [desk] = leading(15, markOf(10), plan);
    expect(desk.at(20, { type: "tick" }, { isLeading: false })).toEqual([]);
  });
});

describe("slots that were missed", () => {
  it('are begun one after the other with "all", the oldest first, without overlap', () => {
    const [desk, effects] = leading(45, markOf(10), { mark: "after" });
    expect(effects).toEqual(["tell begun 20 true", "begin 20 late"]);
    expect(desk.at(46, { type: "tick" })).toEqual([]);
    desk.at(47, settled("done"));
    expect(desk.at(48, { type: "written" })).toEqual(["tell begun 30 true", "begin 30 late"]);
  });

  it('are capped with "all": the oldest are left out, and told of', () => {
    const [, effects] = leading(105, markOf(10), { mark: "after" });
    expect(effects).toEqual(["tell missed 60 4", "tell begun 60 true", "begin 60 late"]);
  });

  it('are begun up to the newest with "last" only', () => {
    const [desk, effects] = leading(45, markOf(10), { missed: "last" });
    expect(effects).toEqual(["tell missed 40 2", "write 40 begun"]);
    expect(desk.at(46, { type: "written" })).toEqual(["tell begun 40 true", "begin 40 late"]);
  });

  it('are not begun with "none", and told of once', () => {
    const [desk, effects] = leading(45, markOf(10), { missed: "none" });
    expect(effects).toEqual(["tell missed 40 3", "tell waiting 50"]);
    expect(desk.at(50, { type: "tick" })).toEqual(["write 50 begun"]);
    expect(desk.at(51, { type: "written" })).toEqual(["tell begun 50 false", "begin 50"]);
  });

  it('because the slot before took too long are begun late with "none" if they are the newest', () => {
    const [desk] = leading(11, markOf(10), { missed: "none", mark: "after" });
    desk.at(20, { type: "tick" });
    desk.at(45, settled("done"));
    expect(desk.at(46, { type: "written" })).toEqual(["tell missed 40 1", "tell begun 40 false", "begin 40"]);
  });
});

describe("clocks that differ", () => {
  it("let a clock that is behind wait: the mark is later, and no slot is begun twice", () => {
    const [desk, effects] = leading(15, markOf(20));
    expect(effects).toEqual(["tell waiting 30"]);
    expect(desk.at(20, { type: "tick" })).toEqual(["tell waiting 30"]);
  });

  it("are an error when the mark is later than the next slot, told once; nothing is begun until the clock is there", () => {
    const [desk, effects] = leading(15, markOf(40));
    expect(effects).toEqual(["tell ahead 40 20"]);
    expect(wakeAtMs(desk.state)).toBe(20);
    expect(desk.at(20, { type: "tick" })).toEqual([]);
    expect(desk.at(30, { type: "tick" })).toEqual(["tell waiting 50"]);
  });
});

describe("work that runs", () => {
  it("is never joined by another, and keeps the machine from a new term", () => {
    const [desk] = leading(20, markOf(10), { mark: "after" });
    expect(desk.at(30, { type: "tick" })).toEqual([]);
    expect(desk.at(31, { type: "leave" })).toEqual([]);
    expect(() => desk.at(32, { type: "lead" })).toThrow("no term begins while the work of an earlier one runs");
  });
});
