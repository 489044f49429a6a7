// Devices that power the machine of an old primary off, as the leader of the monitors uses them: when a shot is decided, what is believed of it, and what forbids it.
import { describe, expect, it } from "vitest";
import type { FailoverRecord, Shot, ShotRules, Views } from "conclave/failover";
import { mayShoot } from "../../src/failover/shots.ts";
import type { FailoverPlan } from "../../src/failover/state.ts";
import { ALL_UP, type Desk, leading, STEADY, up, vote } from "./desk.ts";

const RULES: ShotRules = {
  nodes: { a: "db-1", b: "db-2", c: "db-3" },
  isRequired: false,
  limits: {
    node: "elsewhere",
    life: "",
    members: ["db-1", "db-2", "db-3"],
    storeMembers: [],
    devices: ["db-1", "db-2", "db-3"],
    maxOff: 1,
    shotsMax: 2,
    windowMs: 60_000,
    delayMs: 0,
    spreadMs: 0,
    retryMs: 100,
    retryMaxMs: 300,
    attemptsMax: 3,
    watchdog: undefined,
    isOnlyForOrders: false,
  },
};
const rules = (limits: Partial<ShotRules["limits"]>, more: Partial<ShotRules> = {}): ShotRules => ({
  ...RULES,
  ...more,
  limits: { ...RULES.limits, ...limits },
});
const ALONE: Partial<FailoverPlan> = { hasGuards: false, shots: RULES };
const BESIDE: Partial<FailoverPlan> = { shots: RULES };
const FENCING: FailoverRecord = { ...STEADY, step: { at: "fencing", why: "down", from: "a", wish: undefined } };
const shot = (server: string, more: Partial<Shot> = {}): Shot => ({
  server,
  epoch: 4,
  wallMs: 1_000_000,
  vain: 0,
  last: undefined,
  isBack: false,
  ...more,
});
const SHOT: FailoverRecord = { ...FENCING, shots: [shot("a")] };
const said = "ipmi says so";
const hears = (desk: Desk, outcome: "verified" | "failed" | "unknown"): readonly string[] =>
  desk.on({ type: "fenced", errand: desk.errand, outcome, said });

describe("a device alone", () => {
  it("is told to power the machine off when the record says so, and not before", () => {
    const desk = leading(STEADY, ALONE);
    expect(desk.see({ votes: [vote("m1"), vote("m2")] })).toEqual(["tell objectively-down", "write 5 fencing"]);
    expect(desk.on({ type: "written" })).toEqual(["write 5 fencing"]);
    expect(desk.record.shots).toMatchObject([{ server: "a", epoch: 5, isBack: false }]);
    expect(desk.on({ type: "written" })).toEqual(["fence a"]);
    expect(hears(desk, "verified")).toEqual(["tell powered-off", "write 5 choosing"]);
    expect(desk.record.step).toMatchObject({ fencedBy: "stonith" });
    expect(desk.record.shots).toMatchObject([{ last: { outcome: "verified", said } }]);
    expect(desk.on({ type: "written" })).toEqual(["give-seat", "survey"]);
  });

  it("is a fence only if it was verified: else it is tried again, later and later, and what was heard stands in the record", () => {
    for (const outcome of ["failed", "unknown"] as const) {
      const desk = leading(SHOT, ALONE);
      expect(hears(desk, outcome)).toEqual(["tell not-fenced", "write 4 fencing"]);
      expect(desk.record.shots).toMatchObject([{ vain: 1, last: { outcome, said } }]);
      expect(desk.on({ type: "written" })).toEqual([]);
      desk.nowMs += 99;
      expect(desk.on({ type: "tick" })).toEqual([]);
      desk.nowMs += 1;
      expect(desk.on({ type: "tick" })).toEqual(["fence a"]);
      hears(desk, outcome);
      expect(desk.on({ type: "written" })).toEqual([]);
      desk.nowMs += 199;
      expect(desk.on({ type: "tick" })).toEqual([]);
      desk.nowMs += 1;
      expect(desk.on({ type: "tick" })).toEqual(["fence a"]);
      hears(desk, outcome);
      expect(desk.on({ type: "written" })).toEqual(["tell waiting", "resign"]);
    }
  });

  it("is asked again by the next leader, whatever the one before has verified: somebody may have started the machine since", () => {
    const last = { outcome: "verified", said } as const;
    const desk = leading({ ...SHOT, shots: [shot("a", { last })] }, ALONE);
    expect(desk.record.step.at).toBe("fencing");
    expect(hears(desk, "failed")).toEqual(["tell not-fenced", "write 4 fencing"]);
  });

  it("is not believed if another server takes writes: nobody is promoted beside it", () => {
    const desk = leading(SHOT, ALONE);
    hears(desk, "verified");
    desk.on({ type: "written" });
    desk.nowMs = 500;
    const views: Views = { a: up("primary"), b: up("replica", 9), c: up("replica") };
    expect(desk.on({ type: "surveyed", errand: desk.errand, views })).toEqual(["tell waiting"]);
    desk.nowMs = 1000;
    desk.on({ type: "tick" });
    const later: Views = { b: up("replica"), c: up("replica") };
    expect(desk.on({ type: "surveyed", errand: desk.errand, views: later })).toEqual([
      "tell chosen",
      "write 4 promoting",
    ]);
  });

  it("takes the server that serves already for the first primary, and nobody if two do", () => {
    const first: FailoverRecord = { ...STEADY, primary: undefined, histories: [] };
    const choosing = { at: "choosing", why: "first", from: undefined, wish: undefined, fencedBy: "nothing" } as const;
    const desk = leading({ ...first, step: choosing }, ALONE);
    const views: Views = { a: up("replica", 9), b: up("primary", 7), c: up("replica", 7) };
    desk.on({ type: "surveyed", errand: desk.errand, views });
    expect(desk.record.step).toMatchObject({ at: "promoting", to: "b" });
    const other = leading({ ...first, step: choosing }, ALONE);
    const two: Views = { ...views, c: up("primary", 7) };
    expect(other.on({ type: "surveyed", errand: other.errand, views: two })).toEqual(["tell refused"]);
  });
});

describe("a device beside guards", () => {
  it("does not stand in for the seat", () => {
    const desk = leading(SHOT, BESIDE);
    expect(hears(desk, "verified")).toEqual(["tell powered-off", "take-seat"]);
    expect(desk.on({ type: "seat-taken", errand: desk.errand })).toEqual(["write 4 choosing"]);
    expect(desk.record.step).toMatchObject({ fencedBy: "stonith and seat" });
  });

  it("that failed leaves the seat, which is a fence too; the record says which it was, and what the device said", () => {
    const desk = leading(SHOT, BESIDE);
    expect(hears(desk, "unknown")).toEqual(["tell not-fenced", "take-seat"]);
    desk.on({ type: "seat-taken", errand: desk.errand });
    expect(desk.record).toMatchObject({
      step: { at: "choosing", fencedBy: "seat" },
      shots: [{ server: "a", last: { outcome: "unknown", said } }],
    });
  });

  it("that is required leaves nothing", () => {
    const desk = leading(SHOT, { shots: rules({}, { isRequired: true }) });
    expect(hears(desk, "failed")).toEqual(["tell not-fenced", "write 4 fencing"]);
    expect(desk.on({ type: "written" })).toEqual([]);
  });
});

describe("a shot", () => {
  const mayBe = (limits: Partial<ShotRules["limits"]>, record: FailoverRecord = FENCING): readonly string[] => {
    const desk = leading(record, { hasGuards: false, shots: rules(limits) });
    return desk.state.at === "writing" ? ["shoots"] : desk.on({ type: "tick" });
  };

  it("never hits the machine of this monitor: another one has to lead; beside guards the seat is left", () => {
    for (const record of [FENCING, SHOT]) {
      const desk = leading(record, { ...ALONE, shots: rules({ node: "db-1" }) });
      expect(desk.state.at).toBe("acting");
      expect(desk.last).toEqual(["tell waiting", "resign"]);
      expect(leading(record, { shots: rules({ node: "db-1" }) }).last).toEqual(["tell refused", "take-seat"]);
    }
  });

  it("is refused if too many machines would be off, and allowed when one of them answers again", () => {
    const record: FailoverRecord = { ...FENCING, shots: [shot("b", { epoch: 3 })] };
    const desk = leading(record, ALONE);
    expect(desk.last).toEqual(["tell refused"]);
    expect(desk.see({ views: { ...ALL_UP, b: { is: "unknown" } } })).toEqual([]);
    expect(desk.see({})).toEqual(["give-seat", "write 4 fencing"]);
    expect(desk.on({ type: "written" })).toEqual(["write 4 fencing"]);
    expect(desk.record.shots).toMatchObject([
      { server: "b", isBack: true },
      { server: "a", isBack: false },
    ]);
    expect(mayBe({ maxOff: 2 }, record)).toEqual(["shoots"]);
  });

  it("is refused after too many within the window; an order of an operator is not counted against it", () => {
    const shots = [shot("b", { epoch: 2, isBack: true }), shot("c", { epoch: 3, isBack: true })];
    expect(mayBe({}, { ...FENCING, shots })).toEqual([]);
    expect(mayBe({ shotsMax: 3 }, { ...FENCING, shots })).toEqual(["shoots"]);
    const ordered: FailoverRecord = {
      ...FENCING,
      shots,
      step: { at: "fencing", why: "order", from: "a", wish: undefined },
    };
    expect(mayBe({}, ordered)).toEqual(["shoots"]);
  });

  it("is refused if the store would lose its quorum with it", () => {
    expect(mayBe({ storeMembers: ["db-1", "elsewhere"] })).toEqual([]);
    expect(mayBe({ storeMembers: ["db-1", "db-2", "db-3"] })).toEqual(["shoots"]);
  });

  it("may begin only while the record says that this server is being fenced in this change", () => {
    expect(mayShoot(SHOT, "a", 4)).toBe(true);
    expect(mayShoot(SHOT, "b", 4)).toBe(false);
    expect(mayShoot(SHOT, "a", 3)).toBe(false);
    expect(mayShoot(FENCING, "a", 4)).toBe(false);
    expect(mayShoot({ ...SHOT, step: { at: "steady" } }, "a", 4)).toBe(false);
    expect(mayShoot({ ...SHOT, epoch: 5 }, "a", 4)).toBe(false);
    expect(mayShoot(undefined, "a", 4)).toBe(false);
  });

  it("counts as a machine that is off until its server answers again", () => {
    const desk = leading({ ...STEADY, primary: "c", shots: [shot("a")] }, ALONE);
    expect(desk.see({ views: { b: up("replica", 7, { follows: "c" }), c: up("primary") } })).toEqual([]);
    const views: Views = { a: up("replica"), b: up("replica"), c: up("primary") };
    expect(desk.see({ views })).toEqual(["write 4 steady"]);
    expect(desk.record.shots).toMatchObject([{ server: "a", isBack: true }]);
  });
});

describe("a human's word", () => {
  const order = { id: "o1", kind: "confirm", server: "a", epoch: 4 } as const;

  it("is taken for the device's, once, for the server that is being fenced in this change", () => {
    for (const other of [
      { ...order, server: "b" },
      { ...order, epoch: 3 },
    ])
      expect(leading(SHOT, ALONE).see({ order: other })).toEqual([]);
    const desk = leading(SHOT, ALONE);
    expect(desk.see({ order })).toEqual(["write 4 choosing"]);
    expect(desk.record).toMatchObject({ step: { fencedBy: "human" }, order: { id: "o1", isDone: true } });
  });

  it("does not stand in for the seat", () => {
    const desk = leading(SHOT, { shots: rules({}, { isRequired: true }) });
    expect(desk.see({ order })).toEqual(["take-seat"]);
    expect(desk.see({ order })).toEqual([]);
    desk.on({ type: "seat-taken", errand: desk.errand });
    expect(desk.record).toMatchObject({ step: { at: "choosing", fencedBy: "seat" }, order: { id: "o1" } });
  });

  it("is refused when nothing is being fenced", () => {
    const desk = leading(STEADY, ALONE);
    expect(desk.see({ order })).toEqual(["write 4 steady"]);
    expect(desk.record.order).toMatchObject({ isDone: false });
  });
});

describe("a switchover without guards", () => {
  const order = { id: "o1", kind: "switchover", to: "b", isForced: false } as const;

  it("is refused: nobody would see to it that what has handed over stays a replica", () => {
    const desk = leading(STEADY, ALONE);
    expect(desk.see({ order })).toEqual(["write 4 steady"]);
    expect(desk.record.order?.said).toContain("without guards");
  });

  it("that is forced powers the machine of the primary off first", () => {
    const desk = leading(STEADY, ALONE);
    expect(desk.see({ order: { ...order, isForced: true } })).toEqual(["write 5 fencing"]);
    expect(desk.record.step).toMatchObject({ from: "a", wish: { server: "b", isForced: false } });
    desk.on({ type: "written" });
    expect(desk.on({ type: "written" })).toEqual(["fence a"]);
  });
});
