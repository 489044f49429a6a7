// Elsewhere: the lock was released before the work had ended, and two were active (client-go, nestjs locks).
// Here: drain, then release: the store is told when the work has settled, and not before.
// Taken out: test/defences/early-release.patch
import { expect, it } from "vitest";
import { memory } from "conclave/stores/memory";
import { useRealStores } from "../support/real-stores.ts";
import { slowToStop } from "../support/store-incidents.ts";

it("early-release: nobody else begins before the work of a resigning leader has settled (memory)", () => {
  const store = memory();
  return slowToStop({ hasTokens: true, open: () => store }, expect);
});

it.each(useRealStores())(
  "early-release: nobody else begins before the work of a resigning leader has settled (%s)",
  (_, store) => slowToStop(store, expect),
);
