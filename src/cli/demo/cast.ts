// The candidates of the demo as their director sees them: it starts, hears, kills, stops, resumes and replaces them. It knows what they do only from
// what they say and from what was done to them.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DemoCandidateOptions, DemoMessage } from "./messages.ts";

export type PlayerState = "starting" | "waiting" | "leading" | "stopped" | "killed";

export interface HeardMessage<S extends DemoMessage = DemoMessage> {
  readonly player: DemoPlayer;
  readonly said: S;
}

/** The program of one candidate, in a process. */
export class DemoPlayer {
  readonly who: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  doing: PlayerState = "starting";
  /** The token of its latest term. */
  token = 0n;
  errors = "";

  constructor(
    program: URL,
    options: DemoCandidateOptions,
    hear: (player: DemoPlayer, said: DemoMessage) => void,
    onGone: (player: DemoPlayer) => void,
  ) {
    this.who = options.who;
    this.#child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(options)], { stdio: "pipe" });
    this.#gone = new Promise((resolve) => {
      const end = (): void => {
        this.doing = "killed";
        resolve();
        onGone(this);
      };
      this.#child.once("close", end);
      this.#child.once("error", (error) => {
        this.errors += error.message;
        if (this.#child.pid === undefined) end();
      });
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stderr?.on("data", (text: Buffer) => (this.errors += text.toString()));
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on("line", (line) =>
        this.#heard(JSON.parse(line) as DemoMessage, hear),
      );
  }

  #heard(said: DemoMessage, hear: (player: DemoPlayer, said: DemoMessage) => void): void {
    if (said.event === "ready" || said.event === "lost") this.doing = "waiting";
    if (said.event === "elected") {
      this.doing = "leading";
      this.token = BigInt(said.token);
    }
    hear(this, said);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  tell(words: string): void {
    this.#child.stdin?.write(`${words}\n`);
  }

  stop(): void {
    this.#child.kill("SIGSTOP");
    this.doing = "stopped";
  }

  resume(): void {
    this.doing = "waiting";
    this.#child.kill("SIGCONT");
  }

  /** Resolves when it is gone. A stopped process dies of SIGKILL too. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    this.doing = "killed";
    await this.#gone;
  }
}

export interface CastOptions extends Omit<DemoCandidateOptions, "who"> {
  readonly program: URL;
  readonly names: readonly string[];
}

export class Cast {
  readonly #options: CastOptions;
  readonly #players = new Map<string, DemoPlayer>();
  readonly #listeners = new Set<(heard: HeardMessage) => void>();
  /** Candidates that are about to be killed. If another one ends, waits reject. */
  readonly #expected = new Set<DemoPlayer>();
  readonly failed: Promise<never>;
  #fail: (reason: Error) => void = () => {};

  constructor(options: CastOptions) {
    this.#options = options;
    this.failed = new Promise<never>((_resolve, reject) => (this.#fail = reject));
    this.failed.catch(() => {}); // nobody may be waiting yet; waits that begin later reject, too
    for (const who of options.names) this.replace(who);
  }

  get players(): readonly DemoPlayer[] {
    return [...this.#players.values()];
  }

  /** The leader with the greatest token. */
  get leader(): DemoPlayer | undefined {
    const leading = this.players.filter(({ doing }) => doing === "leading");
    return leading.reduce<DemoPlayer | undefined>(
      (best, player) => (best === undefined || player.token > best.token ? player : best),
      undefined,
    );
  }

  /** Starts a process under this name, in the place of one that is gone. */
  replace(who: string): void {
    const { program, names: _, ...options } = this.#options;
    const hear = (player: DemoPlayer, said: DemoMessage): void => this.#hear(player, said);
    const player = new DemoPlayer(program, { ...options, who }, hear, (gone) => this.#whenGone(gone));
    this.#players.set(who, player);
  }

  /** To be called before it is killed. */
  expectEndOf(player: DemoPlayer): void {
    this.#expected.add(player);
  }

  #whenGone(player: DemoPlayer): void {
    if (this.#expected.delete(player)) return;
    const why =
      player.errors
        .trim()
        .split("\n")
        .findLast((line) => line !== "") ?? "it said nothing";
    this.#fail(new Error(`${player.who} has ended by itself: ${why}`));
  }

  #hear(player: DemoPlayer, said: DemoMessage): void {
    for (const listener of this.#listeners) listener({ player, said });
  }

  /** Calls back for everything that is said. Returns how to stop. */
  listen(listener: (heard: HeardMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The first thing said from now on for which `pick` returns something; `undefined` if `signal` aborts before. Rejects when a candidate ends by itself. */
  hears<T>(pick: (heard: HeardMessage) => T | undefined, signal: AbortSignal): Promise<T | undefined> {
    const heard = new Promise<T | undefined>((resolve) => {
      const end = (value: T | undefined): void => {
        off();
        signal.removeEventListener("abort", abort);
        resolve(value);
      };
      const abort = (): void => end(undefined);
      const off = this.listen((each) => {
        const picked = pick(each);
        if (picked !== undefined) end(picked);
      });
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort);
    });
    return Promise.race([heard, this.failed]);
  }

  async end(): Promise<void> {
    for (const player of this.players) this.#expected.add(player);
    await Promise.all(this.players.map((player) => player.kill()));
  }
}
