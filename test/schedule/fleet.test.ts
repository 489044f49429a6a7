// `npm run fleet`: its judge must find what is beyond the promises of docs/ONCE-PER-FLEET.md, and a short run of three NestJS processes must keep them.
import { describe, expect, it } from "vitest";
import { torment } from "./fleet.ts";
import { judgeFleet, type Line, lineOf } from "./judge.ts";

/** Each text is `PROCESS what …`, with slots as seconds. */
function said(...texts: readonly string[]): readonly Line[] {
  return texts.map((text) => {
    const [process = "", what, ...rest] = text.split(" ");
    const words =
      what === "begun" || what === "ended" ? [new Date(Number(rest[0]) * 1000).toISOString(), rest[1]] : rest;
    const line = lineOf(Number(process), [what, ...words].join(" "));
    if (line === undefined) throw new Error(`${text} is not understood`);
    return line;
  });
}

const judge = (mark: "before" | "after", killed: readonly number[], ...texts: readonly string[]) =>
  judgeFleet(said(...texts), { mark, everyMs: 1000, killed: new Set(killed) });
const FIRST = ["1 term 1", "1 begun 5 1", "1 ended 5 1"];
const CUT = [...FIRST, "1 begun 6 1", "2 term 2"];

describe("the judge of a fleet", () => {
  it('with mark "before" accepts a slot whose runner was killed, or lost its term, in the middle of it', () => {
    const rest = ["2 begun 7 2", "2 ended 7 2"];
    expect(judge("before", [1], ...CUT, ...rest)).toEqual({
      terms: 2,
      ran: 2,
      lost: [6000],
      repeated: [],
      findings: [],
    });
    expect(judge("before", [], ...CUT, ...rest, "1 lost 1").findings).toEqual([]);
    expect(judge("before", [], ...CUT, ...rest).findings).toEqual([
      "1970-01-01T00:00:06.000Z was lost, and no term was cut",
    ]);
  });

  it('with mark "before" accepts one slot that was marked and never began for each term that was cut, and not two', () => {
    expect(judge("before", [1], ...FIRST, "2 term 2", "2 begun 7 2", "2 ended 7 2").findings).toEqual([]);
    expect(judge("before", [1], ...FIRST, "2 term 2", "2 begun 8 2", "2 ended 8 2").findings).toHaveLength(1);
    expect(judge("before", [1], ...CUT, "2 begun 8 2", "2 ended 8 2").findings).toHaveLength(1);
    expect(judge("before", [2], ...FIRST, "1 begun 7 1", "1 ended 7 1", "2 term 2").findings).toHaveLength(1);
  });

  it('with mark "before" finds a slot that began twice', () => {
    const twice = ["2 begun 6 2", "2 ended 6 2"];
    expect(judge("before", [1], ...CUT, ...twice).findings).toEqual(["1970-01-01T00:00:06.000Z began twice"]);
  });

  it('with mark "after" accepts a repeat of the last slot of a term that was cut', () => {
    const again = ["2 begun 6 2", "2 ended 6 2"];
    expect(judge("after", [1], ...CUT, ...again)).toMatchObject({ ran: 2, lost: [], repeated: [6000], findings: [] });
    expect(judge("after", [], ...CUT, ...again).findings).toHaveLength(1);
    expect(judge("after", [1], ...CUT, "2 begun 5 2", "2 ended 5 2", ...again).findings).toHaveLength(1);
    expect(judge("after", [1], ...FIRST, "1 begun 5 1", "1 ended 5 1").findings).toHaveLength(1);
  });

  it('with mark "after" finds a slot that is missing, and that nothing began', () => {
    expect(judge("after", [1], ...CUT, "2 begun 7 2", "2 ended 7 2").findings).toEqual([
      "1970-01-01T00:00:06.000Z is missing",
    ]);
    expect(judge("after", [], "1 term 1").findings).toEqual(["no slot ever began"]);
  });
});

describe("three NestJS processes, killed and stopped for a while", () => {
  it.concurrent.each(["before", "after"] as const)(
    'keep the promise of mark "%s"',
    { timeout: 300_000 },
    async (mark) => {
      const report = await torment({ mark, seconds: 8, seed: 7 });
      expect(report.findings).toEqual([]);
      expect(report.kills + report.stops).toBeGreaterThan(0);
      expect(report.ran).toBeGreaterThan(2);
    },
  );
});
