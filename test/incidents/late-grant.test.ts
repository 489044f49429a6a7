// Elsewhere: a grant was answered after its own ttl, and the holder was told that it owned an expired lease (redlock).
// Here: a grant that arrives when its signal would already have aborted is handed back, never announced.
// Taken out: test/mutants/late-grant.patch
import { expect, it } from "vitest";
import { Rig } from "../lease/rig.ts";

it("late-grant: a grant that outlived its own deadline on the way is handed back, never announced", () => {
  const rig = new Rig();
  const claim = rig.standAndClaim();
  rig.jump(8_500); // the process stood still; the answer has been lying there, and the drain of its term has begun
  rig.grant(claim);
  rig.pass(0);
  expect(rig.happened("elected")).toEqual([]);
  expect(rig.happened("handed-back")).toEqual([{ type: "handed-back", election: "x", why: "late" }]);
  expect(rig.next("release").request.will.holds[0]?.bid).toBe(claim.request.claims[0]?.bid);
});
