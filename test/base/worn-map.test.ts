// A map whose entries come and go all the time: it is renewed in time, and keeps what is in it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { renewed } from "../../src/base/worn-map.ts";

/** Adds and takes out so many entries, of which `most` are there at a time. Returns how often the map was a new one, and how many entries were copied for that. */
function churn(times: number, most: number): { readonly made: number; readonly copied: number } {
  let map = new Map<number, string>();
  let [made, copied] = [0, 0];
  for (let added = 1; added <= times; added++) {
    const next = renewed(map, added);
    if (next !== map) [made, copied] = [made + 1, copied + next.size];
    map = next;
    map.set(added, `${added}`);
    map.delete(added - most);
  }
  expect([...map.keys()]).toEqual(Array.from({ length: most }, (_, index) => times - most + 1 + index));
  return { made, copied };
}

describe("renewed", () => {
  it("makes a new map from time to time, with what was in the old one, in its order", () => {
    expect(churn(6400, 1).made).toBe(100);
    expect(churn(6400, 50).made).toBe(100);
  });

  it("copies no more than two entries for each that is added, however many there are", () => {
    for (const most of [1, 31, 32, 33, 64, 1000, 4096]) expect(churn(10_000, most).copied).toBeLessThanOrEqual(20_000);
  });
});

// Without it some 80 MB are left, because minor collections do not look into what old tables point to.
it("what has come and gone is not kept by a table that has become old", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as (options?: { type: "minor" }) => void;
  let map = new Map<number, unknown>();
  const come = (added: number): void => {
    map = renewed(map, added);
    map.set(
      added,
      Array.from({ length: 500 }, () => added),
    );
    map.delete(added - 40);
  };
  for (let added = 1; added <= 100; added++) come(added);
  gc();
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let added = 101; added <= 20_000; added++) {
    come(added);
    if (added % 100 === 0) gc({ type: "minor" });
  }
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});
