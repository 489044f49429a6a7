// Law 6 of a term, on the machine alone: what proves that the session lived, and of which keep. Laws 1 to 5 are in time-laws.test.ts.
import { describe, expect, it } from "vitest";
import { Rig, version } from "./rig.ts";

const RHO = 0.005;
/** D of law 1 for the rig's ttl, before and after the grain of the monotonic hand. */
const belief = (ttlMs: number): number => (ttlMs * (1 - RHO)) / (1 + RHO) - 5;

describe("law 6, proof", () => {
  it("is not given by a look, a hint, a refusal or an unknown", () => {
    const rig = new Rig();
    rig.lead();
    const before = rig.deadline;
    rig.pass(3000);
    rig.answer(rig.next("keep"), { kind: "refused", code: "STORE_UNREACHABLE", message: "away", retryable: true });
    rig.pass(300);
    rig.unknown(rig.next("keep"));
    rig.input({ type: "hint", hint: { name: "x", seat: { name: "x", version: version("v"), state: "held" } } });
    expect(rig.deadline).toBe(before);
  });

  it("is of the keep answered before, where the store relays touches", () => {
    const rig = new Rig({ keepProves: "previous-send" });
    rig.lead();
    const opening = rig.deadline;
    rig.pass(3000);
    rig.keep();
    expect(rig.deadline).toBe(opening);
    const first = rig.now.mono;
    rig.pass(3000);
    rig.keep();
    expect(rig.deadline - belief(10_000)).toBeLessThanOrEqual(first);
    expect(rig.deadline).toBeGreaterThan(opening);
  });

  it("is of no keep that was answered over another connection, where the store relays touches", () => {
    const rig = new Rig({ keepProves: "previous-send" });
    rig.lead();
    rig.pass(3000);
    rig.keep();
    const opening = rig.deadline;
    rig.pass(3000);
    rig.keep(rig.next("keep"), { road: "another" });
    expect(rig.deadline).toBe(opening);
    const first = rig.now.mono;
    rig.pass(0);
    rig.keep(rig.next("keep"), { road: "another" });
    expect(rig.deadline - belief(10_000)).toBeLessThanOrEqual(first);
    expect(rig.deadline).toBeGreaterThan(opening);
  });

  it("is of the last keep that left a tick before, where the store relays touches by the tick", () => {
    const rig = new Rig({ keepProves: "previous-send", proofApartMs: 1000 });
    rig.lead();
    rig.pass(3000);
    rig.keep();
    const first = rig.now.mono;
    const opening = rig.deadline;
    rig.input({ type: "renew" });
    rig.pass(0);
    rig.keep();
    expect(rig.deadline).toBe(opening);
    rig.pass(1000);
    rig.keep();
    expect(rig.deadline - belief(10_000)).toBeLessThanOrEqual(first);
    expect(rig.deadline).toBeGreaterThan(opening);
  });

  it("goes by the tick that the server has told with the opening, in place of the declared one", () => {
    const rig = new Rig({ keepProves: "previous-send", proofApartMs: 0, proofWithinMs: Infinity });
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep(rig.next("keep"), { met: { server: "table 1", proofApartMs: 2000, proofWithinMs: 100 } });
    rig.pass(0);
    rig.grant();
    const opening = rig.deadline;
    rig.input({ type: "renew" });
    rig.pass(0);
    rig.keep();
    rig.pass(1500);
    rig.input({ type: "renew" });
    rig.pass(0);
    rig.keep();
    // Too soon after the opening to make a pair with it: so the next one does, and proves only the opening.
    rig.jump(600);
    rig.input({ type: "renew" });
    rig.pass(0);
    rig.keep();
    expect(rig.deadline).toBe(opening);
    rig.jump(2000);
    rig.input({ type: "renew" });
    rig.pass(0);
    const late = rig.next("keep");
    rig.jump(200);
    rig.keep(late);
    expect(rig.deadline).toBe(opening);
    while (!rig.has("keep")) rig.pass(10);
    rig.keep();
    expect(rig.deadline).toBeGreaterThan(opening);
  });

  it("is not given by an answer that took longer than the store allows for", () => {
    const rig = new Rig({ proofWithinMs: 250 });
    rig.lead();
    const before = rig.deadline;
    rig.pass(3000);
    rig.jump(251);
    rig.keep();
    expect(rig.deadline).toBe(before);
    expect(rig.effects.some(({ type }) => type === "kept")).toBe(false);
    expect(rig.effects.at(-1)).toMatchObject({ type: "unkept", error: { code: "STORE_TIMEOUT" } });
  });

  it("is not given by an answer that a sleep of the host made late", () => {
    const rig = new Rig({ proofWithinMs: 2000 });
    rig.lead();
    const before = rig.deadline;
    rig.pass(3000);
    rig.sleep(2001);
    rig.keep();
    expect(rig.deadline).toBe(before);
    expect(rig.effects.at(-1)).toMatchObject({ type: "unkept", error: { code: "STORE_TIMEOUT" } });
  });

  it("is refused up front where a store would prove records by the keep before, or in a line", () => {
    expect(() => new Rig({ keep: "per-hold", keepProves: "previous-send" })).toThrow(/goes with a race and keepProves/);
    expect(() => new Rig({ keep: "per-hold", shape: "line" })).toThrow(/goes with a race and keepProves/);
    expect(() => new Rig({ extraMarginMs: undefined as never })).toThrow(/extraMarginMs undefined/);
  });

  it("extends, record by record, only what the keep carried and the store was sure of", () => {
    const rig = new Rig({ keep: "per-hold" });
    const sure = rig.lead("sure");
    const unsure = rig.lead("unsure");
    rig.pass(3000);
    rig.keep(rig.next("keep"), { unsure: [{ name: "unsure", bid: unsure }] });
    rig.healthy(100);
    rig.jump(belief(10_000) - 3100 + 50);
    expect(rig.isHeld(sure, "sure")).toBe(true);
    expect(rig.isHeld(unsure, "unsure")).toBe(false);
  });
});
