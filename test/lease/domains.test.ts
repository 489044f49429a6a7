// LAW 10. Tokens of different domains do not compare: what was seen of an old store, or of an old domain, keeps nobody from leading at the new one.
import { describe, expect, it } from "vitest";
import type { Bid, Holder } from "conclave/stores/contract";
import { holdOf, Rig, version } from "./rig.ts";

/** Waits behind a holder with this token. */
function waitingBehind(token: bigint, domain: string | undefined): Rig {
  const rig = new Rig({ judge: "store-monotonic" }).stand();
  show(rig, token, domain);
  return rig;
}

let shown = 0;
function show(rig: Rig, token: bigint, domain: string | undefined): void {
  const bid = `bob.${++shown}` as Bid;
  const holder: Holder = { candidate: "bob", bid, token, domain };
  rig.see({ name: "x", state: "held", version: version(`v${shown}`), ttlMs: 4000, holder });
}

/** The seat becomes vacant, and is granted with this token. */
function win(rig: Rig, value: bigint, domain: string): void {
  look(rig);
  if (rig.has("look")) rig.see({ state: "vacant", version: version(`free ${++shown}`) });
  rig.pass(0);
  const call = rig.next("claim");
  const claimed = call.request.claims.map((claim) => {
    const hold = holdOf(claim, value);
    return { kind: "granted" as const, hold: { ...hold, token: hold.token && { ...hold.token, domain } } };
  });
  rig.answer(call, { kind: "claimed", claimed });
}

function look(rig: Rig): void {
  for (let guard = 0; guard < 100 && !rig.has("look") && !rig.has("claim"); guard++) {
    rig.pass(100);
    if (rig.has("keep")) rig.keep();
  }
}

describe("a waiter that saw a greater token", () => {
  it("of another domain takes what the new domain grants", () => {
    const rig = waitingBehind(10_000n, "old");
    win(rig, 1n, "table");
    expect(rig.happened("handed-back")).toEqual([]);
    expect(rig.happened("elected")).toHaveLength(1);
  });

  it("of the same domain hands the grant back: the store has forgotten", () => {
    const rig = waitingBehind(10_000n, "table");
    win(rig, 1n, "table");
    expect(rig.happened("handed-back")).toMatchObject([{ why: "regressed" }]);
    expect(rig.happened("elected")).toEqual([]);
  });

  it("remembers the old domain too, should that come back with an older count", () => {
    const rig = waitingBehind(10_000n, "old");
    look(rig);
    show(rig, 3n, "table");
    win(rig, 9_999n, "old");
    expect(rig.happened("handed-back")).toMatchObject([{ why: "regressed" }]);
    win(rig, 4n, "table");
    expect(rig.happened("elected")).toHaveLength(1);
  });

  it("compares nothing with a token whose domain nobody told", () => {
    const rig = waitingBehind(10_000n, undefined);
    win(rig, 1n, "table");
    expect(rig.happened("elected")).toHaveLength(1);
  });

  it("remembers a few domains, however many it sees", () => {
    const rig = waitingBehind(10_000n, "old");
    for (let index = 0; index < 50; index++) {
      look(rig);
      show(rig, 1n, `domain ${index}`);
    }
    expect(rig.machine.campaigns.get("x")?.greatest.length).toBeLessThan(10);
  });
});
