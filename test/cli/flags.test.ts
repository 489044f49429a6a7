// What flags mean.
import { expect, it } from "vitest";
import { abortAfter, inFlags, readDuration } from "../../src/cli/flags.ts";

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

it("says a message of the library in the words of the command line", () => {
  expect(inFlags("createCandidate: 1 problem · ttlMs 1 is too short for sqlite: take at least 100")).toBe(
    "--ttl 1ms is too short for sqlite: take at least 100",
  );
  expect(inFlags('createCandidate: 2 problems · id "" is not a name · priority 5 is too great. Raise ttlMs')).toBe(
    '2 problems · --id "" is not a name · --priority 5 is too great. Raise --ttl',
  );
  expect(inFlags('openStore: "" is not a URL. Is the environment variable set?')).toBe(
    '"" is not a URL. Is the environment variable set?',
  );
  // What users have named so is left alone.
  expect(inFlags("sqlite: the id of drainMsX is taken")).toBe("sqlite: the id of drainMsX is taken");
});
