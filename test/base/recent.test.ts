// What is remembered of the latest keys, and no more.
import { expect, it } from "vitest";
import { Recent } from "../../src/base/recent.ts";

it("forgets what was set longest ago", () => {
  const recent = new Recent<string, number>(3);
  for (const [index, key] of ["a", "b", "c", "a", "d"].entries()) recent.set(key, index);
  expect([...recent.keys()]).toEqual(["c", "a", "d"]);
  expect([recent.get("a"), recent.get("b"), recent.has("b"), recent.size]).toEqual([3, undefined, false, 3]);
  for (let n = 0; n < 1000; n++) recent.set(["c", "d", `${n}`][n % 3] ?? "", n);
  expect([...recent.keys()]).toEqual(["998", "c", "d"].toSorted((a, b) => (recent.get(a) ?? 0) - (recent.get(b) ?? 0)));
  expect([recent.get("c"), recent.get("d"), recent.get("995")]).toEqual([999, 997, undefined]);
  recent.clear();
  expect(recent.size).toBe(0);
});
