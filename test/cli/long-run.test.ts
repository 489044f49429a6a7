// Events of commands that run until they are stopped, as lines for people and for programs.
import { describe, expect, it } from "vitest";
import { line } from "../../src/cli/long-run.ts";

const entry = { wallMs: 1794983984961, token: 6n, by: "db-1", is: "acting", node: "db-2", said: "its work begins" };
const event = { type: "stonith", election: "ledger", node: "db-1", news: { is: "history", entry } };
const withoutTime = (text: string): string => text.replace(/^\S+ /, "");

describe("an event as a line", () => {
  it("tells people what happened first, and leaves no fact inside of another", () => {
    expect(withoutTime(line(event, false))).toBe(
      `stonith acting election="ledger" node="db-2" token="6" by="db-1" said="its work begins"\n`,
    );
  });

  it("gives people no fractions of a millisecond", () => {
    expect(withoutTime(line({ type: "elected", remainingMs: 14_830.746 }, false))).toBe("elected remainingMs=14831\n");
  });

  it("gives programs everything as it is", () => {
    const { at, ...rest } = JSON.parse(line(event, true)) as Record<string, unknown>;
    expect(at).toMatch(/^\d{4}-/);
    expect(rest).toEqual({ ...event, news: { is: "history", entry: { ...entry, token: "6" } } });
  });
});
