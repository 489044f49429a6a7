// The screen of the demo: what is written to a terminal, to anything else, and that the cursor comes back.
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { DemoPlayer } from "../../../src/cli/demo/cast.ts";
import { openScreen } from "../../../src/cli/demo/screen.ts";

const HIDE = "\u001B[?25l";
const SHOW = "\u001B[?25h";

/** A stream that keeps what it is given. */
function terminal(isTTY: boolean, columns = 60): { readonly stream: NodeJS.WriteStream; written: () => string } {
  const written: string[] = [];
  const stream = { isTTY, columns, write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
  return { stream, written: () => written.join("") };
}

const players = (): readonly DemoPlayer[] =>
  [
    { who: "web-1", doing: "leading", token: 3n },
    { who: "web-2", doing: "stopped", token: 2n },
  ] as unknown as readonly DemoPlayer[];

describe("a terminal", () => {
  it("has the strips below the story, drawn again over themselves; none is wider than it", async () => {
    const { stream, written } = terminal(true);
    const screen = openScreen(stream, {});
    screen.watch(players);
    await expect.poll(written).toContain("leads, token 3");
    screen.line("a line of the story", "good");
    screen.end();
    expect(written()).toContain("\u001B[4A\r\u001B[J\u001B[32ma line of the story\u001B[0m\n");
    for (const row of stripVTControlCharacters(written()).split("\n")) expect(row.length).toBeLessThan(60);
  });

  it("gets its cursor back, once, and nothing is drawn after that", async () => {
    const { stream, written } = terminal(true);
    const before = process.listenerCount("exit");
    const screen = openScreen(stream, {});
    screen.watch(players);
    expect(process.listenerCount("exit")).toBe(before + 1);
    screen.end();
    screen.end();
    expect(written().split(HIDE)).toHaveLength(2);
    expect(written().split(SHOW)).toHaveLength(2);
    expect(process.listenerCount("exit")).toBe(before);
    const ended = written();
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(written()).toBe(ended);
  });

  it("is given no colours if NO_COLOR says so", () => {
    const { stream, written } = terminal(true);
    const screen = openScreen(stream, { NO_COLOR: "1" });
    screen.line("a line", "bad");
    screen.end();
    expect(written()).toBe(`${HIDE}a line\n${SHOW}`);
  });
});

describe("anything else", () => {
  it.each([
    ["a pipe", false, {}],
    ["a dumb terminal", true, { TERM: "dumb" }],
  ])("%s gets plain lines", (_what, isTTY, environment) => {
    const { stream, written } = terminal(isTTY);
    const screen = openScreen(stream, environment);
    screen.watch(players);
    screen.line("a line", "good");
    screen.end();
    expect(written()).toBe("a line\n");
  });
});
