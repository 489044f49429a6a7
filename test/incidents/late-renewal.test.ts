// Elsewhere: a renewal committed, its answer came 4 s late, then the store was gone: two leaders for 2 s, because validity counted from the answer (client-go).
// Here: validity counts from the send. Checked against a store that judges by receipt.
// Taken out: test/mutants/deadline-from-receipt.patch
import { expect, it } from "vitest";
import { RaceShelf } from "../../src/simulator/models/race-shelf.ts";
import { Rig, sessionOf } from "../lease/rig.ts";

it("late-renewal: the holder has stopped believing when the store frees the seat, however late the answer came", () => {
  const shelf = new RaceShelf({ domain: "table", judge: "store", layout: "session" });
  const rig = new Rig({ judge: "store-monotonic" });
  const bid = rig.lead();
  const opening = { nonce: "me.s1", candidate: "alice", ttlMs: 10_000 };
  shelf.keep(opening, [], rig.now.mono);
  rig.pass(3_000);
  const keep = rig.next("keep");
  const sentAt = rig.now.mono; // no later than this: the tick that sent it lies before
  shelf.keep(sessionOf(keep.request.session), [], sentAt);
  rig.jump(1_900);
  rig.keep(keep);
  const freedAt = shelf.nextExpiry();
  expect(rig.isHeld(bid)).toBe(true);
  rig.jump(freedAt - rig.now.mono);
  expect(rig.isHeld(bid)).toBe(false);
});
