// The judge of real processes: what it calls an overlap, and that it is not fooled by a log without one.
import { expect, it } from "vitest";
import { judgeLog, readTerms } from "conclave/testing";

const log = (...lines: string[]): string => `${lines.join("\n")}\n`;

it("finds nothing where terms follow each other, also after a process that was killed", () => {
  expect(
    judgeLog(
      log("10 a begin 1", "11.5 a act 1", "12 a end 1", "12.1 b begin 2", "13 b act 2", "20 a begin 3", "21 a end 3"),
    ),
  ).toEqual({ terms: 3, overlaps: [], regressions: [], unread: [] });
});

it("reports a forged overlap, in whatever order the lines were appended", () => {
  const { overlaps } = judgeLog(log("12 b begin 2", "10 a begin 1", "13 b end 2", "12.25 a act 1"));
  expect(overlaps).toEqual(["b (token 2) began 0.250 ms before a (token 1) had ended"]);
});

it("reports a term inside another, and one that begins after that but before the first has ended", () => {
  const { overlaps } = judgeLog(
    log("10 a begin 1", "11 b begin 2", "12 b end 2", "13 c begin 3", "14 c end 3", "20 a end 1"),
  );
  expect(overlaps).toHaveLength(2);
});

it("reports a token that does not grow", () => {
  expect(judgeLog(log("1 a begin 5", "2 a end 5", "3 b begin 5", "4 b end 5")).regressions).toEqual([
    "b has token 5 after a had 5",
  ]);
});

it("says which lines it cannot read, and those without a beginning", () => {
  expect(judgeLog(log("nonsense", "5 a act 1")).unread).toEqual(["nonsense", "5 a act 1"]);
});

it("reads who led when, by their beginning, the last line counting as the end", () => {
  expect(readTerms(log("20 b begin 2", "10 a begin 1", "11 a act 1", "25.5 b end 2", "?"))).toEqual({
    terms: [
      { who: "a", token: 1n, fromMs: 10, untilMs: 11 },
      { who: "b", token: 2n, fromMs: 20, untilMs: 25.5 },
    ],
    unread: ["?"],
  });
});
