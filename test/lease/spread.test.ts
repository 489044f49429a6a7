// Hints that wake everybody at once (`guarantee.wakesAll`): claims that were in vain spread the next ones, and a seat that is seen taken is not asked for.
import { describe, expect, it } from "vitest";
import { VACANT, type Version } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const held = {
  name: "x",
  state: "held",
  version: "v1" as Version,
  ttlMs: 10_000,
  holder: { candidate: "bob" },
} as const;
const vacant = { name: "x", state: "vacant", version: "v2" as Version } as const;
/** As `settings.coolDownMs` of ten seconds is. */
const COOL_DOWN_MS = 500;

/** Stands where bob holds the seat, beaten so many times. */
function beaten(times: number, nonce = "me"): Rig {
  const settings = { shape: "race", judge: "store-monotonic", wakes: "watch", hintsUntilEnd: true } as const;
  const rig = new Rig({ ...settings, wakesAll: true }, {}, nonce).stand();
  rig.see(held);
  for (let count = 1; count < times; count++) {
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(COOL_DOWN_MS);
    rig.see(held);
    if (rig.has("keep")) rig.keep();
  }
  rig.pass(0);
  expect(rig.pending).toEqual([]);
  return rig;
}

describe("a hint that everybody gets", () => {
  it("makes one that was beaten wait for a moment before it claims, and never longer than its cool-down", () => {
    for (const times of [1, 3, 6, 20]) {
      const rig = beaten(times);
      rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
      rig.pass(Math.min(COOL_DOWN_MS, 20 * 2 ** times));
      expect(rig.next("claim").request.claims).toMatchObject([{ over: VACANT }]);
    }
  });

  it("is waited after for longer the more often it was in vain", () => {
    const waitOf = (times: number): number => {
      const rig = beaten(times);
      const before = rig.now.mono;
      rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
      while (!rig.has("claim")) rig.pass(1);
      return rig.now.mono - before;
    };
    const waits = Array.from({ length: 12 }, (_, index) => waitOf(index + 1));
    expect(Math.max(...waits.slice(0, 2))).toBeLessThan(80);
    expect(Math.max(...waits.slice(5))).toBeGreaterThan(100);
  });

  it("followed by one that the seat is taken asks for nothing, and neither looks nor claims", () => {
    const rig = beaten(12);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.input({ type: "hint", hint: { name: "x", seat: { ...held, version: "v3" as Version } } });
    rig.pass(COOL_DOWN_MS);
    expect(rig.has("claim") || rig.has("look")).toBe(false);
  });

  it("reports the leader that it shows", () => {
    const rig = beaten(1);
    const holder = { candidate: "carol", bid: "carol.1" as never };
    rig.input({ type: "hint", hint: { name: "x", seat: { ...held, holder, version: "v3" as Version } } });
    expect(rig.happened("leader").at(-1)).toMatchObject({ leader: holder });
  });

  it("does not slow down one that was never beaten, or has led since", () => {
    const rig = beaten(12);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(COOL_DOWN_MS);
    rig.grant();
    expect(rig.machine.campaigns.get("x")?.lostRaces).toBe(0);
  });

  it("while an answer is on its way is heeded after it", () => {
    const rig = beaten(1);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.pass(COOL_DOWN_MS);
    rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
    rig.see(held);
    rig.pass(COOL_DOWN_MS);
    expect(rig.has("claim")).toBe(true);
  });
});

it("where hints do not wake everybody, nothing is waited for", () => {
  const rig = new Rig({ shape: "race", judge: "store-monotonic", wakes: "watch" }).stand();
  rig.see(held);
  rig.input({ type: "hint", hint: { name: "x", seat: vacant } });
  rig.pass(0);
  expect(rig.has("claim")).toBe(true);
});
