// The supervisor's end of its keeper: starts it, tells it, and replaces it when it dies or no longer listens (G6). Whatever the keeper must know is kept
// here too, so that a new one knows it at once. Until a keeper has said that it guards a child, that child does not begin.
import { type ChildProcess, spawn } from "node:child_process";
import type { Cell } from "./cell.ts";
import { helperPath } from "./helper-path.ts";
import type { Estate, FromKeeper, ToKeeper } from "./keeper-words.ts";
import { readLines } from "./lines.ts";
import { identify, type ProcessId } from "./processes.ts";
import type { Instants } from "./schedule.ts";

export type KeeperEvent =
  | { readonly type: "keeper"; readonly state: "started"; readonly pid: number }
  /** Died, or did not listen any more; another one is started. */
  | { readonly type: "keeper"; readonly state: "lost"; readonly why: string }
  /** It did what the supervisor should have done: that one was stopped or too busy. */
  | { readonly type: "keeper"; readonly state: "terminated" | "killed" };

export interface KeeperOptions {
  /** For people who read `ps`. */
  readonly election: string;
  /** What waiters watch, to be held open. */
  readonly life: number | undefined;
  /** A keeper that has not answered for so long is taken for stopped. */
  readonly patienceMs: number;
  readonly tell: (event: KeeperEvent) => void;
}

/** Omit that keeps the alternatives of a union apart. */
type Unnumbered<W> = W extends unknown ? Omit<W, "number"> : never;

/** One that dies as soon as it is started is not started again in a loop. */
const SHORT_LIFE_MS = 1000;
const PAUSE_MS = 200;

export class KeeperLink {
  readonly #options: KeeperOptions;
  readonly #self: ProcessId;
  #process: ChildProcess | undefined;
  /** Numbers of the last word said, of the last one heard, and of the one by which the present keeper hears of the cell. They grow over all keepers. */
  #said = 0;
  #heard = 0;
  #guardWord = 0;
  /** The last word of what a new keeper must know; 0 once it has heard it. */
  #startWord = 0;
  #whenGuarded: (() => void) | undefined;
  #impatience: NodeJS.Timeout | undefined;
  #estate: Estate | undefined;
  #guarded: { readonly cell: Cell; instants: Instants; isTold: boolean } | undefined;
  #isEnding = false;
  #startedAtMs = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const self = identify(process.pid);
    if (self === undefined) throw new Error("this system does not say when a process was started");
    this.#self = self;
  }

  start(): void {
    const { life, election } = this.#options;
    const env = { ...process.env };
    // What a user wants in his own program (a debugger, a preloaded module) is not wanted here.
    for (const name of ["NODE_OPTIONS", "NODE_V8_COVERAGE"]) delete env[name];
    const keeper = spawn(process.execPath, [helperPath("keeper"), election], {
      detached: true,
      stdio: ["pipe", "pipe", "inherit", ...(life === undefined ? [] : [life])],
      env,
    });
    this.#process = keeper;
    this.#startedAtMs = performance.now();
    keeper.stdin?.on("error", () => {}); // its exit says so, and the next keeper is told everything
    if (keeper.stdout !== null) readLines(keeper.stdout, (line) => this.#hear(JSON.parse(line) as FromKeeper));
    keeper.once("exit", (code, signal) => this.#lost(keeper, `it ended (${signal ?? code})`));
    keeper.once("error", (error) => this.#lost(keeper, error.message));
    const releaser = helperPath("releaser");
    this.#say({ word: "hello", supervisor: this.#self, hasLife: life !== undefined, releaser });
    if (this.#guarded !== undefined) this.#guardWord = this.#say({ word: "guard", ...this.#guarded });
    this.#startWord = this.#say({ word: "estate", estate: this.#estate });
  }

  leaveEstate(estate: Estate | undefined): void {
    this.#estate = estate;
    this.#say({ word: "estate", estate });
  }

  /** Resolves when a keeper knows the cell, be it the one after this. */
  guard(cell: Cell, instants: Instants): Promise<void> {
    this.#guarded = { cell, instants, isTold: false };
    this.#guardWord = this.#say({ word: "guard", cell, instants });
    return new Promise((resolve) => (this.#whenGuarded = resolve));
  }

  extend(instants: Instants, isTold: boolean): void {
    if (this.#guarded === undefined) return;
    Object.assign(this.#guarded, { instants, isTold });
    this.#say({ word: "extend", instants, isTold });
  }

  leave(): void {
    this.#guarded = undefined;
    this.#whenGuarded = undefined;
    this.#say({ word: "leave" });
  }

  /** Nothing is left to keep. Resolves when it has gone. */
  async end(): Promise<void> {
    this.#isEnding = true;
    const keeper = this.#process;
    if (keeper === undefined || keeper.exitCode !== null || keeper.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => keeper.once("exit", () => resolve()));
    const impatience = setTimeout(() => keeper.kill("SIGKILL"), 1000);
    this.#say({ word: "farewell" });
    clearTimeout(this.#impatience);
    await gone;
    clearTimeout(impatience);
  }

  #say(word: Unnumbered<ToKeeper>): number {
    const number = ++this.#said;
    this.#process?.stdin?.write(`${JSON.stringify({ ...word, number })}\n`);
    this.#impatience ??= setTimeout(() => this.#giveUp(), this.#options.patienceMs);
    return number;
  }

  #hear(word: FromKeeper): void {
    if (word.word !== "heard") return this.#options.tell({ type: "keeper", state: word.word });
    this.#heard = Math.max(this.#heard, word.number);
    if (this.#heard >= this.#guardWord) this.#whenGuarded?.();
    if (this.#startWord > 0 && this.#heard >= this.#startWord) this.#started();
    clearTimeout(this.#impatience);
    const isWaiting = this.#heard < this.#said && !this.#isEnding;
    this.#impatience = isWaiting ? setTimeout(() => this.#giveUp(), this.#options.patienceMs) : undefined;
  }

  #started(): void {
    this.#startWord = 0;
    this.#options.tell({ type: "keeper", state: "started", pid: this.#process?.pid ?? 0 });
  }

  /** Stopped or hung. SIGKILL reaches it nevertheless, and its exit brings the next. */
  #giveUp(): void {
    this.#impatience = undefined;
    this.#process?.kill("SIGKILL");
  }

  #lost(keeper: ChildProcess, why: string): void {
    if (this.#isEnding || this.#process !== keeper) return;
    this.#process = undefined;
    this.#options.tell({ type: "keeper", state: "lost", why });
    const pauseMs = performance.now() - this.#startedAtMs < SHORT_LIFE_MS ? PAUSE_MS : 0;
    setTimeout(() => {
      if (!this.#isEnding) this.start();
    }, pauseMs);
  }
}
