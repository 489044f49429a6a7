// What flags mean.
import { expect, it } from "vitest";
import { abortAfter, readDuration } from "../../src/cli/flags.ts";

it("reads a duration with its unit, and refuses one without", () => {
  expect(["500ms", "2s", "15m", "1h"].map((text) => readDuration("--ttl", text))).toEqual([
    500, 2000, 900_000, 3_600_000,
  ]);
  for (const text of ["5", "1.5s", "1d", "-1s", ""]) expect(() => readDuration("--ttl", text)).toThrow(/whole number/);
});

it("a wait of a month does not end at once", async () => {
  const signal = abortAfter(readDuration("--wait", "720h"));
  await new Promise((resolve) => setTimeout(resolve, 20)); // a timer that is too long fires after 1 ms
  expect(signal.aborted).toBe(false);
});
