// What the demo shows while it runs. On a terminal: the story, and below it a strip per candidate that grows to the right, drawn again ten times a
// second. Elsewhere: the story alone, a line each. Colours only on a terminal, and none if NO_COLOR says so. The cursor is hidden meanwhile and comes
// back however the process ends, except by SIGKILL.
import type { PlayerState, DemoPlayer } from "./cast.ts";
import type { Tone } from "./round.ts";

export interface Screen {
  line(text: string, tone?: Tone): void;
  /** The strips are drawn from this; the plain screen has none. */
  watch(players: () => readonly DemoPlayer[]): void;
  end(): void;
}

const DRAW_EVERY_MS = 100;
const ESCAPE = "\u001B[";
const HIDE_CURSOR = `${ESCAPE}?25l`;
const SHOW_CURSOR = `${ESCAPE}?25h`;
const COLOURS: Readonly<Record<Tone, string>> = { good: "32", bad: "31", calm: "2" };
const CELLS: Readonly<Record<PlayerState, string>> = {
  starting: " ",
  waiting: "·",
  leading: "█",
  stopped: "░",
  killed: "x",
};

export function openScreen(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): Screen {
  return stream.isTTY && environment["TERM"] !== "dumb"
    ? new LiveScreen(stream, (environment["NO_COLOR"] ?? "") === "")
    : plainScreen(stream);
}

/** For --json: nothing but the result is shown. */
export const silentScreen: Screen = { line: () => {}, watch: () => {}, end: () => {} };

function plainScreen(stream: NodeJS.WriteStream): Screen {
  return { line: (text) => void stream.write(`${text}\n`), watch: () => {}, end: () => {} };
}

class LiveScreen implements Screen {
  readonly #stream: NodeJS.WriteStream;
  readonly #hasColour: boolean;
  readonly #strips = new Map<string, string>();
  #players: () => readonly DemoPlayer[] = () => [];
  #timer: NodeJS.Timeout | undefined;
  /** How many rows of the strips stand below the story now. */
  #rows = 0;
  #ended = false;

  constructor(stream: NodeJS.WriteStream, hasColour: boolean) {
    this.#stream = stream;
    this.#hasColour = hasColour;
    stream.write(HIDE_CURSOR);
    process.once("exit", this.#restore);
  }

  readonly #restore = (): void => void this.#stream.write(SHOW_CURSOR);

  line(text: string, tone?: Tone): void {
    const shown = this.#hasColour && tone !== undefined ? `${ESCAPE}${COLOURS[tone]}m${text}${ESCAPE}0m` : text;
    this.#stream.write(`${this.#erase()}${shown}\n${this.#ended ? "" : this.#draw()}`);
  }

  watch(players: () => readonly DemoPlayer[]): void {
    this.#players = players;
    this.#timer = setInterval(() => {
      for (const { who, doing } of players())
        this.#strips.set(who, `${this.#strips.get(who) ?? ""}${CELLS[doing]}`.slice(-1000));
      this.#stream.write(`${this.#erase()}${this.#draw()}`);
    }, DRAW_EVERY_MS);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#stream.write(this.#erase());
    this.#restore();
    process.removeListener("exit", this.#restore);
  }

  #erase(): string {
    const rows = this.#rows;
    this.#rows = 0;
    return rows === 0 ? "" : `${ESCAPE}${rows}A\r${ESCAPE}J`;
  }

  /** No row is as wide as the terminal, so that none wraps and `erase` counts right. */
  #draw(): string {
    const width = Math.max(20, (this.#stream.columns ?? 80) - 1);
    const rows = this.#players().map(({ who, doing, token }) => {
      const state = doing === "leading" ? `leads, token ${token}` : doing;
      const strip = (this.#strips.get(who) ?? "").slice(-Math.max(0, width - who.length - 26));
      return `  ${who}  ${strip}  ${state}`.slice(0, width);
    });
    if (rows.length === 0) return "";
    const all = ["", ...rows, "  █ leads  · waits  ░ stopped      Ctrl-C ends the demo".slice(0, width)];
    this.#rows = all.length;
    return all.map((row) => `${row}\n`).join("");
  }
}
