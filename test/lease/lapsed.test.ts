// A session whose deadline has passed is ended at the store, so that nobody waits for it, this candidate least of all; but never while work of its terms runs.
import { describe, expect, it } from "vitest";
import { Rig } from "./rig.ts";

const DRAIN_MS = 2000;

/** Everything that waits for an answer gets none. */
function silence(rig: Rig): void {
  for (const call of rig.pending.splice(0)) rig.unknown(call);
}

/** Time passes and nothing is answered. */
function outage(rig: Rig, ms: number): void {
  for (let passed = 0; passed < ms; passed += 100) {
    rig.pass(100);
    silence(rig);
  }
}

/** How often the end of the first session was asked for. */
function ended(rig: Rig): number {
  return rig.effects.filter(
    (effect) =>
      effect.type === "call" &&
      effect.request.method === "release" &&
      effect.request.will.endSession &&
      effect.request.will.session.id === "me.s1",
  ).length;
}

/** Leads, and loses the term because the store is away; its work has not settled yet. */
function lost(...names: string[]): Rig {
  const rig = new Rig({ judge: "store-monotonic" });
  for (const name of names) rig.lead(name);
  for (let guard = 0; guard < 200 && rig.happened("lost").length === 0; guard++) outage(rig, 100);
  expect(rig.happened("lost")).toHaveLength(names.length);
  return rig;
}

/** The store answers again: the next session is opened. An opening that was first sent before a long outage is spent, and the next one counts. */
function reopen(rig: Rig): void {
  for (let guard = 0; guard < 100 && rig.machine.session.kind !== "open"; guard++) {
    rig.pass(100);
    if (rig.has("keep")) rig.keep();
    rig.pass(0);
  }
}

describe("a session that has lapsed", () => {
  it("is ended when the store answers again, before this candidate asks for the name", () => {
    const rig = lost("x");
    rig.input({ type: "settle", name: "x" });
    outage(rig, 30_000);
    const told = ended(rig);
    expect(told).toBeGreaterThan(2);
    reopen(rig);
    expect(ended(rig)).toBe(told + 1);
    const methods = rig.pending.map(({ request }) => request.method);
    expect(methods.indexOf("release")).toBeLessThan(methods.indexOf("claim"));
  });

  it("is ended again until the store has answered, and then no more", () => {
    const rig = lost("x");
    rig.input({ type: "settle", name: "x" });
    outage(rig, 20_000);
    const told = ended(rig);
    expect(told).toBeGreaterThan(2);
    expect(told).toBeLessThan(60);
    reopen(rig);
    while (rig.has("release")) rig.answer(rig.next("release"), { kind: "released" });
    const after = ended(rig);
    rig.healthy(30_000);
    expect(ended(rig)).toBe(after);
    expect(rig.machine.lapsed).toEqual([]);
  });

  it("is not ended before the drain has passed since the loss", () => {
    const rig = lost("x");
    const lostAt = rig.now.mono;
    rig.input({ type: "settle", name: "x" });
    while (ended(rig) === 0 && rig.now.mono < lostAt + 10_000) outage(rig, 100);
    expect(ended(rig)).toBe(1);
    expect(rig.now.mono - lostAt).toBeGreaterThanOrEqual(DRAIN_MS - 100);
  });

  it("is not ended while work of one of its terms runs, whatever else has settled", () => {
    const rig = lost("x", "y");
    rig.input({ type: "settle", name: "x" });
    outage(rig, 30_000);
    reopen(rig);
    rig.healthy(10_000);
    expect(ended(rig)).toBe(0);
    rig.input({ type: "settle", name: "y" });
    rig.pass(0);
    expect(ended(rig)).toBe(1);
  });

  it("of which nothing was held is ended at once", () => {
    const rig = new Rig({ judge: "store-monotonic" }).stand();
    rig.see({ state: "held", ttlMs: 4000, holder: { candidate: "bob" } });
    for (let guard = 0; guard < 200 && rig.happened("session").length < 2; guard++) outage(rig, 100);
    rig.pass(0);
    expect(ended(rig)).toBe(1);
  });

  it("is left to run out if the store says that it will never end it", () => {
    const rig = lost("x");
    rig.input({ type: "settle", name: "x" });
    outage(rig, 5000);
    reopen(rig);
    const message = "no right";
    rig.answer(rig.next("release"), { kind: "refused", code: "STORE_DENIED", message, retryable: false });
    expect(rig.machine.lapsed.filter(({ opened }) => opened === 1)).toEqual([]);
  });

  it("is remembered with a few others, however many are lost", () => {
    const rig = lost("x");
    rig.input({ type: "settle", name: "x" });
    for (let round = 0; round < 10; round++) {
      outage(rig, 2000);
      reopen(rig);
      outage(rig, 15_000);
    }
    expect(rig.machine.lapsed.length).toBeLessThan(5);
  });
});
