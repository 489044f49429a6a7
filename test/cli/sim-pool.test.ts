// Portions of seeds on all cores, and Ctrl-C between them. Threads run the last build.
import { expect, it } from "vitest";
import { shareOut } from "../../src/cli/sim-pool.ts";

const ORDER = { kind: "hunt", name: "lease", fromSeed: 1, count: 100_000, isControl: false } as const;

it("an interruption drops the portions that are under way, so that nobody waits for them", async () => {
  const interruption = new AbortController();
  let answers = 0;
  const hunted = shareOut(ORDER, () => answers++, interruption.signal);
  interruption.abort();
  await hunted;
  expect(answers).toBe(0);
});
