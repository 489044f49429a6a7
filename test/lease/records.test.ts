// Where each record is renewed by itself, each term has instants of its own (expiry.ts, `expireRecords`). On the machine alone.
import { beforeEach, describe, expect, it } from "vitest";
import type { Reading } from "../../src/base/clock.ts";
import { heldTerm } from "../../src/lease/campaign.ts";
import { remainingMs } from "../../src/lease/deadline.ts";
import type { Lifeline } from "../../src/lease/lifeline.ts";
import { isBehindClock } from "../../src/lease/machine.ts";
import { Rig } from "./rig.ts";

describe("of two records, one of which was not renewed with the other,", () => {
  let rig: Rig;
  let late: Lifeline;

  const lifelineOf = (name: string): Lifeline => {
    const campaign = rig.machine.campaigns.get(name);
    const lifeline = campaign && heldTerm(campaign)?.lifeline;
    if (lifeline === undefined) throw new Error(`${name} is not led`);
    return lifeline;
  };
  /** What was told of this name, without its election. */
  const told = (name: string): string[] =>
    rig.events.flatMap((event) => {
      if (event.type === "state" && event.election === name) return [event.state];
      return event.type === "lost" && event.election === name ? ["lost"] : [];
    });
  /** On to the last millisecond before this instant, on the hand that comes first. */
  const passUntil = (instant: Reading): void => rig.pass(remainingMs(instant, rig.now) - 1);

  beforeEach(() => {
    rig = new Rig({ keep: "per-hold" });
    rig.lead("renewed");
    const bid = rig.lead("late");
    rig.pass(3_000);
    rig.keep(rig.next("keep"), { unsure: [{ name: "late", bid }] });
    late = lifelineOf("late");
    expect(lifelineOf("renewed").jeopardyAt.mono).toBeGreaterThan(late.jeopardyAt.mono);
  });

  it("that one is in jeopardy, ends and is lost at its own instants, and the other is not", () => {
    const { jeopardyAt, signalAt, deadline } = late;
    for (const [instant, before, after] of [
      [jeopardyAt, [], ["jeopardy"]],
      [signalAt, ["jeopardy"], ["jeopardy", "ending"]],
      [deadline, ["jeopardy", "ending"], ["jeopardy", "ending", "lost"]],
    ] as const) {
      passUntil(instant);
      expect(told("late")).toEqual(before);
      rig.pass(1);
      expect(told("late")).toEqual(after);
    }
    expect(told("renewed")).toEqual(["jeopardy"]);
  });

  it("that one is safe again when it is renewed", () => {
    // On to the next renewal.
    rig.pass(remainingMs(late.jeopardyAt, rig.now) + 1_000);
    expect(told("late")).toEqual(["jeopardy"]);
    rig.keep();
    expect(told("late")).toEqual(["jeopardy", "safe"]);
    expect(told("renewed")).toEqual([]);
  });

  it("a sleep of the host counts for that one alone", () => {
    rig.sleep(late.jeopardyAt.boot - rig.now.boot - 1);
    expect(isBehindClock(rig.machine, rig.now)).toBe(false);
    rig.sleep(1);
    expect(isBehindClock(rig.machine, rig.now)).toBe(true);
    rig.input({ type: "tick" });
    expect(told("late")).toEqual(["jeopardy"]);
    expect(told("renewed")).toEqual([]);
    expect(isBehindClock(rig.machine, rig.now)).toBe(false);
  });

  it("a third one that is won later has its own instants, too", () => {
    rig.lead("third");
    const { signalAt } = lifelineOf("third");
    passUntil(signalAt);
    expect(told("third")).toEqual(["jeopardy"]);
    rig.pass(1);
    expect(told("third")).toEqual(["jeopardy", "ending"]);
  });

  it("a record that is the only one is told at its first instant", () => {
    rig = new Rig({ keep: "per-hold" });
    rig.lead("only");
    passUntil(lifelineOf("only").jeopardyAt);
    expect(told("only")).toEqual([]);
    rig.pass(1);
    expect(told("only")).toEqual(["jeopardy"]);
  });

  it("neither is looked at again by a step before one of them may have changed", () => {
    let reads = 0;
    const { jeopardyAt } = late;
    Object.defineProperty(late, "jeopardyAt", { get: () => (reads++, jeopardyAt) });
    for (let step = 0; step < 100; step++) {
      rig.input({ type: "tick" });
      expect(isBehindClock(rig.machine, rig.now)).toBe(false);
      rig.jump(1);
    }
    expect(reads).toBe(0);
    rig.jump(jeopardyAt.mono - rig.now.mono);
    rig.input({ type: "tick" });
    expect(reads).toBeGreaterThan(0);
  });
});
