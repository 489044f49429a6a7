import { expect, it } from "vitest";
import { grantedMs } from "../../src/stores/granted-ttl.ts";

it.each([
  [1500, 1500],
  [1500.2, 1501],
  [50, 200],
  [90_000_000, 86_400_000],
])("of %d ms asked for, %d are granted", (asked, granted) => {
  expect(grantedMs(asked, { minMs: 200, maxMs: 86_400_000, stepMs: 1, why: "" })).toBe(granted);
});

it("is granted in whole steps, rounded up", () => {
  expect(grantedMs(4001, { minMs: 2000, maxMs: 86_400_000, stepMs: 1000, why: "" })).toBe(5000);
});
