// Claims without a look before: over VACANT when nothing is known of a seat or a hint says that it is vacant, and in a line when a hint shows nobody ahead.
import { describe, expect, it } from "vitest";
import { VACANT, type Version } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const version = (label: string): Version => label as Version;
const held = (label: string) =>
  ({
    name: "x",
    state: "held",
    version: version(label),
    ttlMs: 4000,
    holder: { candidate: "bob", bid: "bob.1" },
  }) as never;
const vacant = { name: "x", state: "vacant", version: version("hinted") } as const;

/** Stands, and knows that bob holds the seat. */
function waiting(): Rig {
  const rig = new Rig().stand();
  rig.see(held("v1"));
  rig.pass(0);
  expect(rig.pending).toEqual([]);
  return rig;
}

describe("a race, asked for what is vacant", () => {
  it("claims at once, over VACANT, before it has looked", () => {
    const rig = new Rig().stand();
    expect(rig.has("look")).toBe(false);
    const call = rig.next("claim");
    expect(call.request.claims).toMatchObject([{ name: "x", over: VACANT }]);
    rig.grant(call);
    expect(rig.happened("elected")).toHaveLength(1);
  });

  it("sends such a claim again with the same bid, over VACANT, while its outcome is unknown", () => {
    const rig = new Rig().stand();
    const first = rig.next("claim");
    rig.unknown(first);
    rig.input({ type: "hint", hint: { name: "x", seat: held("v3") } });
    rig.pass(1000);
    expect(rig.next("claim").request.claims).toEqual(first.request.claims);
  });

  it("when beaten waits as after a look, and swaps over the version that was shown", () => {
    const rig = waiting();
    for (let look = 0; look < 100 && !rig.has("claim"); look++) {
      rig.pass(100);
      if (rig.has("keep")) rig.keep();
      if (rig.has("look")) rig.see(held("v1"));
    }
    expect(rig.now.mono).toBeGreaterThanOrEqual(1000 + 4000);
    expect(rig.next("claim").request.claims).toMatchObject([{ over: "v1" }]);
  });

  it("looks where a grant could not be used: no keep is proven that manual renewal needs", () => {
    const rig = new Rig({}, { renewal: "manual" });
    rig.lead("another");
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    expect(rig.has("look")).toBe(true);
    expect(rig.has("claim")).toBe(false);
  });

  it("claims over VACANT when a hint says that the seat is vacant, and looks at any other hint", () => {
    const rig = waiting();
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(0);
    expect(rig.has("look")).toBe(false);
    expect(rig.next("claim").request.claims).toMatchObject([{ over: VACANT }]);
    const other = waiting();
    other.input({ type: "hint", hint: { name: "x" } });
    other.pass(0);
    expect(other.has("look")).toBe(true);
    expect(other.has("claim")).toBe(false);
  });

  it("looks at a seat that a hint showed vacant and that was not, before it claims again", () => {
    const rig = waiting();
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(0);
    rig.see(held("v2"));
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    expect(rig.has("look")).toBe(true);
  });

  it("does not forget a hint that came while an answer was on its way", () => {
    const rig = waiting();
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.see(held("v1"));
    rig.pass(0);
    expect(rig.next("claim").request.claims).toMatchObject([{ over: VACANT }]);
  });

  it("does not forget it either where that answer follows one that did not come", () => {
    const rig = waiting();
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    rig.unknown(rig.next("look"));
    for (let wait = 0; wait < 100 && !rig.has("look"); wait++) rig.pass(10);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.see(held("v1"));
    rig.pass(0);
    expect(rig.next("claim").request.claims).toMatchObject([{ over: VACANT }]);
  });

  it("lets no hint shorten the pause after an answer that did not come", () => {
    const rig = waiting();
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    rig.unknown(rig.next("look"));
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(0);
    expect(rig.pending).toEqual([]);
  });
});

describe("a line, with nobody ahead", () => {
  /** Stands in line behind one. */
  function behindOne(): Rig {
    const rig = new Rig({ shape: "line", judge: "store-monotonic" }).stand();
    const call = rig.next("claim");
    const [claim] = call.request.claims;
    if (claim === undefined) throw new Error("nothing was claimed");
    const hold = { name: "x", bid: claim.bid, token: { domain: "table", value: 5n, bid: claim.bid } };
    rig.answer(call, { kind: "claimed", claimed: [{ kind: "waiting", hold, ahead: 1 }] });
    rig.pass(0);
    rig.see({ state: "held", place: { present: true, ahead: 1 } }); // it looks once, for people to know who leads
    rig.pass(0);
    expect(rig.pending).toEqual([]);
    return rig;
  }

  it("claims when a hint shows nobody ahead, with the bid that stands, and looks at any other hint", () => {
    const rig = behindOne();
    rig.input({ type: "hint", hint: { name: "x", seat: { ...vacant, place: { present: true, ahead: 0 } } } });
    rig.pass(0);
    expect(rig.has("look")).toBe(false);
    expect(rig.next("claim").request.claims).toMatchObject([{ bid: "me.1" }]);
    for (const place of [{ present: false, ahead: 0 }, { present: true, ahead: 1 }, undefined]) {
      const other = behindOne();
      other.input({ type: "hint", hint: { name: "x", seat: { ...vacant, place } } });
      other.pass(0);
      expect(other.has("claim"), JSON.stringify(place)).toBe(false);
      expect(other.has("look"), JSON.stringify(place)).toBe(true);
    }
  });

  it("asks by a claim with the bid that stands when a look does not show its entry: an old copy costs no place", () => {
    const rig = behindOne();
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    rig.see({ state: "held", place: { present: false, ahead: 0 } });
    rig.pass(0);
    expect(rig.has("release")).toBe(false);
    expect(rig.next("claim").request.claims).toMatchObject([{ bid: "me.1" }]);
  });

  it("does not forget such a hint that came while a look was on its way", () => {
    const rig = behindOne();
    rig.input({ type: "hint", hint: { name: "x" } });
    rig.pass(0);
    rig.input({ type: "hint", hint: { name: "x", seat: { ...vacant, place: { present: true, ahead: 0 } } } });
    rig.see({ state: "held", place: { present: true, ahead: 1 } });
    rig.pass(0);
    expect(rig.has("look")).toBe(true);
  });
});
