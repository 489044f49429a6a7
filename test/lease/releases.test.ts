// How many releases are under way at once, and that no entry is given back by two of them. On the machine alone.
import { describe, expect, it } from "vitest";
import type { Guarantee } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const NAMES = ["a", "b", "c"] as const;

/** Leads all names, and settles their work one after the other, so that the first release is under way when the second name is given back. */
function settled(guarantee: Partial<Guarantee>): Rig {
  const rig = new Rig(guarantee);
  for (const name of NAMES) rig.lead(name);
  for (const name of NAMES) {
    rig.input({ type: "withdraw", name });
    rig.input({ type: "settle", name });
    rig.pass(0);
  }
  return rig;
}

const released = (rig: Rig): string[][] =>
  rig.pending.flatMap(({ request }) =>
    request.method === "release" ? [request.will.holds.map(({ name }) => name)] : [],
  );

describe("names that are given back one after the other", () => {
  it("wait for the release before where one request serves many names, and then go together", () => {
    const rig = settled({ keep: "one-request" });
    expect(released(rig)).toEqual([["a"]]);
    rig.answer(rig.next("release"), { kind: "released" });
    rig.pass(0);
    expect(released(rig)).toEqual([["b", "c"]]);
  });

  it("do not wait where each name costs a request of its own", () => {
    expect(released(settled({ keep: "per-hold" }))).toEqual([["a"], ["b"], ["c"]]);
  });

  it("are given back again, each once, when a release had no answer", () => {
    const rig = settled({ keep: "per-hold" });
    rig.unknown(rig.next("release"));
    rig.pass(60_000);
    const again = released(rig);
    expect(again.filter((names) => names.includes("a"))).toHaveLength(1);
    expect(again.filter((names) => names.includes("b"))).toHaveLength(1);
    while (rig.has("release")) rig.answer(rig.next("release"), { kind: "released" });
    rig.pass(60_000);
    expect(released(rig)).toEqual([]);
  });

  it("are not more than 64 requests at once", () => {
    const rig = new Rig({ keep: "per-hold" });
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
    for (const name of names) rig.lead(name);
    for (const name of names) {
      rig.input({ type: "withdraw", name });
      rig.input({ type: "settle", name });
      rig.pass(0);
    }
    expect(released(rig)).toHaveLength(64);
    rig.answer(rig.next("release"), { kind: "released" });
    rig.pass(0);
    expect(released(rig)).toHaveLength(64);
    expect(released(rig).flat()).toHaveLength(99);
    expect(new Set(released(rig).flat()).size).toBe(99);
  });
});
