// From the review of the design: a paused virtual machine stops every clock of its guest, so the old leader may believe for ever.
// Here: it may believe, but its token is older, and the resource refuses it. The deadline is about belief, the token about effects.
// Taken out: test/mutants/guard-older-value.patch
import { expect, it } from "vitest";
import { judge, type Numbered, type Objection } from "../../src/fencing/rule.ts";
import { RaceShelf } from "../../src/simulator/models/race-shelf.ts";
import { Rig } from "../lease/rig.ts";

it("frozen-clocks: the old leader believes, its successor leads, and the old leader's write is refused", () => {
  const shelf = new RaceShelf({ domain: "table", judge: "store", layout: "session" });
  const frozen = new Rig({ judge: "store-monotonic" }, {}, "frozen");
  const rival = new Rig({ judge: "store-monotonic" }, {}, "rival");
  const win = (rig: Rig, nowMs: number): { readonly bid: string; readonly token: bigint } => {
    const session = shelf.keep({ nonce: `${rig.machine.nonce}.s1`, candidate: "c", ttlMs: 10_000 }, [], nowMs);
    const bid = rig.lead();
    if (session.kind !== "kept") throw new Error("no session");
    const seat = shelf.look({ name: "x" });
    const claimed = shelf.claim({ session: session.session, name: "x", bid, over: seat.version, value: "" }, nowMs);
    if (claimed.kind !== "granted") throw new Error(`not granted: ${claimed.kind}`);
    return { bid, token: claimed.hold.token?.value ?? 0n };
  };
  const old = win(frozen, 0);
  shelf.expire(60_000); // the world goes on for a minute, and the frozen guest's clocks do not
  const successor = win(rival, 60_000);
  expect(frozen.isHeld(old.bid as never)).toBe(true);
  const tokenOf = (term: { readonly bid: string; readonly token: bigint }): Numbered => ({
    domain: "table",
    value: term.token,
    bid: term.bid,
  });
  const after = (first: Numbered, second: Numbered): Objection | "admitted" => {
    const remembered = judge(undefined, first);
    if (typeof remembered === "string") return remembered;
    const judged = judge(remembered, second);
    return typeof judged === "string" ? judged : "admitted";
  };
  expect(after(tokenOf(old), tokenOf(successor))).toBe("admitted");
  expect(after(tokenOf(successor), tokenOf(old))).toBe("stale");
});
