// What the suite asks about two copies of one process, of each store in this repository that needs no server. The mutants of their rules are found here.
import { memory } from "conclave/stores/memory";
import { sqlite } from "conclave/stores/sqlite";
import type { Store } from "conclave/stores/contract";
import { storeConformance } from "conclave/testing";
import { describe, expect, it } from "vitest";

const STORES: readonly (readonly [name: string, open: () => Store])[] = [
  ["a race in memory", () => memory()],
  ["a line in memory", () => memory({ shape: "line" })],
  ["compare-and-swap in memory", () => memory("memory:?layout=swap")],
  ["sqlite", () => sqlite(":memory:")],
];

describe.each(STORES)("%s", (_, open) => {
  const cases = storeConformance(async () => open()).filter(({ name }) => /\bbeats?\b|\bcop(y|ies)\b/.test(name));
  for (const { name, run } of cases)
    it(name, async () => {
      expect(await problemOf(run)).toBeUndefined();
    });

  it("is asked six questions", () => {
    expect(cases).toHaveLength(6);
  });
});

/** What the suite finds wrong. */
async function problemOf(run: () => Promise<void>): Promise<string | undefined> {
  return await run().then(() => undefined, String);
}
