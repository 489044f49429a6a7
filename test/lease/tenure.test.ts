// Maximum tenure: a term that has been led for so long is given up, as if somebody had asked for it. On the machine alone.
import { describe, expect, it } from "vitest";
import type { Bid, Guarantee } from "conclave/stores/contract";
import { isBehindClock } from "../../src/lease/machine.ts";
import { Rig } from "./rig.ts";

const TENURE_MS = 60_000;

function leading(guarantee: Partial<Guarantee> = {}): { readonly rig: Rig; readonly bid: Bid } {
  const rig = new Rig(guarantee, { maxTenureMs: TENURE_MS });
  return { rig, bid: rig.lead() };
}

/** Until the store has answered that the term was given back. */
function giveBack(rig: Rig): void {
  rig.input({ type: "settle", name: "x" });
  rig.pass(0);
  rig.answer(rig.next("release"), { kind: "released" });
}

describe("a term that has been led for its tenure", () => {
  it("ends at that instant with a reason of its own, and not before", () => {
    const { rig, bid } = leading();
    rig.healthy(TENURE_MS - 1);
    expect(rig.state(bid)).toBe("safe");
    rig.pass(1);
    expect(rig.happened("state").at(-1)).toMatchObject({ state: "ending", reason: "tenure" });
  });

  it("is held until its work has settled, and only then the store is told", () => {
    const { rig, bid } = leading();
    rig.healthy(TENURE_MS + 20_000);
    expect(rig.isHeld(bid)).toBe(true);
    expect(rig.has("release")).toBe(false);
    giveBack(rig);
    expect(rig.isHeld(bid)).toBe(false);
    expect(rig.happened("settled")).toMatchObject([{ reason: "tenure" }]);
  });

  it("is behind the clock before any timer has fired, so that who asks finds its signal aborted", () => {
    const { rig } = leading();
    rig.healthy(TENURE_MS - 1000);
    rig.jump(999);
    expect(isBehindClock(rig.machine, rig.now)).toBe(false);
    rig.jump(1);
    expect(isBehindClock(rig.machine, rig.now)).toBe(true);
  });

  it("in a race the candidate stays away for longer than a poll, and then stands again", () => {
    const { rig } = leading();
    rig.healthy(TENURE_MS);
    giveBack(rig);
    const { pollMs } = rig.machine.settings;
    rig.input({ type: "hint", hint: { name: "x", seat: { name: "x", version: "v2" as never, state: "vacant" } } });
    rig.pass(1.4 * pollMs);
    expect(rig.has("claim") || rig.has("look")).toBe(false);
    rig.pass(0.2 * pollMs);
    expect(rig.has("claim") || rig.has("look")).toBe(true);
  });

  it("in a line it does not stay away: those who wait stand before it", () => {
    const { rig } = leading({ shape: "line", judge: "store-monotonic" });
    rig.healthy(TENURE_MS);
    giveBack(rig);
    rig.pass(1000);
    expect(rig.has("claim")).toBe(true);
  });
});

it("each term of several has its own time, and what ends for another reason leaves the others theirs", () => {
  const { rig, bid } = leading();
  rig.healthy(10_000);
  const later = rig.lead("y");
  rig.healthy(10_000);
  rig.input({ type: "resign", name: "x" });
  expect(rig.state(bid)).toBe("ending");
  rig.healthy(TENURE_MS - 10_001);
  expect(rig.state(later, "y")).toBe("safe");
  rig.pass(1);
  expect(rig.state(later, "y")).toBe("ending");
  expect(rig.happened("state").at(-1)).toMatchObject({ election: "y", reason: "tenure" });
});

it("a lock has none: its work is one piece", () => {
  const rig = new Rig({}, { maxTenureMs: TENURE_MS });
  rig.input({ type: "stand", name: "x", value: "", brief: true });
  rig.pass(0);
  rig.keep();
  rig.pass(0);
  const claim = rig.next("claim");
  rig.grant(claim);
  rig.healthy(2 * TENURE_MS);
  expect(rig.happened("state")).toEqual([]);
});

it.each([
  [9999, /maxTenureMs 9999 is shorter than one lease: at ttlMs 10000 at least 10000/],
  [Number.NaN, /maxTenureMs .* is not a number/],
  ["1h", /maxTenureMs "1h" is not a number/],
])("a tenure of %s is refused", (maxTenureMs, message) => {
  expect(() => new Rig({}, { maxTenureMs: maxTenureMs as number })).toThrow(message);
});
