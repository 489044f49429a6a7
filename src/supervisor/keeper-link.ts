// The supervisor's end of its keeper: it starts the keeper, tells it what to do, and replaces it when it dies or no longer listens. Everything that the keeper must know is
// kept here too, so that a new one knows it at once. A child does not begin until a keeper has said that it guards the child.
import { type ChildProcess, spawn } from "node:child_process";
import { helperPath } from "../election/helper-path.ts";
import type { Cell } from "./cell.ts";
import type { Estate, FromKeeper, ToKeeper } from "./keeper-messages.ts";
import { readLines } from "../keeper/lines.ts";
import { identify, isProcOurs, type ProcessId } from "../keeper/processes.ts";
import type { Instants } from "./schedule.ts";

export type KeeperEvent =
  | { readonly type: "keeper"; readonly state: "started"; readonly pid: number }
  /** The keeper died, or did not listen any more; another one is started. */
  | { readonly type: "keeper"; readonly state: "lost"; readonly why: string }
  /** The keeper did what the supervisor should have done, because the supervisor was stopped or too busy. */
  | { readonly type: "keeper"; readonly state: "terminated" | "killed" };

export interface KeeperLinkOptions {
  /** Shown to people who read `ps`. */
  readonly election: string;
  /** The descriptor that waiters watch, which the keeper holds open. */
  readonly life: number | undefined;
  /** A keeper that has answered before, and then does not answer for so long, is taken for stopped. */
  readonly patienceMs: number;
  readonly tell: (event: KeeperEvent) => void;
}

/** An Omit that keeps the alternatives of a union apart. */
type Unnumbered<W> = W extends unknown ? Omit<W, "number"> : never;

/** How long to wait for the answer that says whether a command was ended or had finished. */
const VERDICT_WITHIN_MS = 2000;
/** How long to wait for the keeper's first answer. A busy machine needs seconds to start a process, and starting it again and again makes the machine no less busy. */
const START_PATIENCE_MS = 30_000;
/** A keeper that dies as soon as it is started is not started again in a loop. */
const SHORT_LIFE_MS = 1000;
const PAUSE_FIRST_MS = 200;
const PAUSE_LAST_MS = 5000;

export class KeeperLink {
  readonly #options: KeeperLinkOptions;
  readonly #self: ProcessId;
  /** Looked up once. If somebody replaces the package under a running supervisor, the next keeper does not start, but nothing throws here. */
  readonly #programs = { keeper: programOf("keeper"), releaser: programOf("releaser") };
  #life: number | undefined;
  #process: ChildProcess | undefined;
  /** The numbers of the last word said, of the last word heard, and of the word that tells the present keeper of the cell. They grow over all keepers. */
  #said = 0;
  #heard = 0;
  #guardWord = 0;
  /** The number of the last word of what a new keeper must know; 0 once it has heard it. */
  #startWord = 0;
  #whenGuarded: (() => void) | undefined;
  #whenLeft: { readonly word: number; readonly resolve: () => void } | undefined;
  /** The child that a keeper, perhaps an earlier one, has signalled while it ran. */
  #ended: number | undefined;
  #impatience: NodeJS.Timeout | undefined;
  #estate: Estate | undefined;
  #guarded: { readonly cell: Cell; instants: Instants; isTold: boolean } | undefined;
  #isEnding = false;
  #startedAtMs = 0;
  #pauseMs = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: KeeperLinkOptions) {
    this.#options = options;
    this.#life = options.life;
    if (!isProcOurs()) throw new Error("/proc is that of another pid namespace. Mount it here: unshare --mount-proc");
    const self = identify(process.pid);
    if (self === undefined) throw new Error("this system does not say when a process was started");
    this.#self = self;
  }

  start(): void {
    clearTimeout(this.#pause);
    clearTimeout(this.#impatience);
    this.#impatience = undefined;
    this.#startedAtMs = performance.now();
    try {
      this.#process = this.#spawn();
    } catch (error) {
      return this.#replace(error instanceof Error ? error.message : String(error));
    }
    const { releaser } = this.#programs;
    this.#startWord = Infinity;
    this.#say({ word: "hello", supervisor: this.#self, hasLife: this.#life !== undefined, releaser });
    if (this.#guarded !== undefined) this.#guardWord = this.#say({ word: "guard", ...this.#guarded });
    this.#startWord = this.#say({ word: "estate", estate: this.#estate });
  }

  #spawn(): ChildProcess {
    const life = this.#life;
    const env = { ...process.env };
    // What a user wants in his own program (a debugger, a preloaded module) is not wanted in the keeper.
    for (const name of ["NODE_OPTIONS", "NODE_V8_COVERAGE"]) delete env[name];
    const keeper = spawn(process.execPath, [this.#programs.keeper, this.#options.election], {
      detached: true,
      stdio: ["pipe", "pipe", "inherit", ...(life === undefined ? [] : [life])],
      env,
    });
    keeper.once("exit", (code, signal) => this.#lost(keeper, `it ended (${signal ?? code})`));
    keeper.once("error", (error) => this.#lost(keeper, error.message));
    keeper.stdin?.on("error", () => {}); // its exit tells of it, and the next keeper is told everything
    // If the process has no descriptor left, there is no stream, whatever the types say; an `error` follows.
    if (keeper.stdout) readLines(keeper.stdout, (line) => this.#hear(keeper, JSON.parse(line) as FromKeeper));
    return keeper;
  }

  /** Waiters watch another descriptor than before. A keeper that holds it takes the place of the present one. Only while nothing is guarded. */
  share(life: number | undefined): void {
    if (life === this.#life) return;
    this.#life = life;
    const before = this.#process;
    this.#process = undefined;
    before?.kill("SIGKILL"); // the old keeper guards nothing yet
    this.start();
  }

  leaveEstate(estate: Estate | undefined): void {
    this.#estate = estate;
    this.#say({ word: "estate", estate });
  }

  /**
   * Resolves when a keeper knows the cell; that may be a later keeper than the present one. The cell may be named again before that, with other instants. Then everybody who waits hears of it, because the later word says
   * of that cell what the earlier one did. Nothing is heard any more of another cell that was guarded before.
   */
  guard(cell: Cell, instants: Instants): Promise<void> {
    const earlier = this.#guarded?.cell === cell ? this.#whenGuarded : undefined;
    this.#guarded = { cell, instants, isTold: false };
    this.#ended = undefined;
    this.#guardWord = this.#say({ word: "guard", ...this.#guarded });
    return new Promise((resolve) => {
      this.#whenGuarded = () => {
        earlier?.();
        resolve();
      };
    });
  }

  extend(instants: Instants, isTold: boolean): void {
    if (this.#guarded === undefined) return;
    Object.assign(this.#guarded, { instants, isTold });
    this.#say({ word: "extend", instants, isTold });
  }

  /**
   * Nothing of the cell lives. Resolves to whether a keeper had signalled its child while the child ran; undefined if no keeper answers in time. A keeper
   * answers in the order in which things happened: when it has answered this, everything that it did before has been heard.
   */
  async leave(): Promise<boolean | undefined> {
    const child = this.#guarded?.cell.child.pid;
    this.#guarded = undefined;
    this.#whenGuarded = undefined;
    const word = this.#say({ word: "leave" });
    const isAnswered = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), VERDICT_WITHIN_MS);
      this.#whenLeft = { word, resolve: () => resolve((clearTimeout(timer), true)) };
    });
    this.#whenLeft = undefined;
    return this.#ended === child || (isAnswered ? false : undefined);
  }

  /** Nothing is left to keep. Resolves when the keeper has gone. */
  async end(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#pause);
    const keeper = this.#process;
    if (keeper === undefined || keeper.exitCode !== null || keeper.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => keeper.once("exit", () => resolve()).once("error", () => resolve()));
    const impatience = setTimeout(() => keeper.kill("SIGKILL"), 1000);
    this.#say({ word: "farewell" });
    clearTimeout(this.#impatience);
    await gone;
    clearTimeout(impatience);
  }

  #say(word: Unnumbered<ToKeeper>): number {
    const number = ++this.#said;
    this.#process?.stdin?.write(`${JSON.stringify({ ...word, number })}\n`);
    this.#impatience ??= this.#waitForAnswer();
    return number;
  }

  #hear(keeper: ChildProcess, word: FromKeeper): void {
    if (word.word !== "heard") {
      if (word.ran) this.#ended = word.child;
      return this.#options.tell({ type: "keeper", state: word.word });
    }
    if (keeper !== this.#process) return;
    this.#heard = Math.max(this.#heard, word.number);
    if (this.#heard >= this.#guardWord) {
      this.#whenGuarded?.();
      this.#whenGuarded = undefined;
    }
    if (this.#whenLeft !== undefined && this.#heard >= this.#whenLeft.word) this.#whenLeft.resolve();
    if (this.#startWord > 0 && this.#heard >= this.#startWord) this.#started();
    clearTimeout(this.#impatience);
    this.#impatience = this.#heard < this.#said && !this.#isEnding ? this.#waitForAnswer() : undefined;
  }

  #waitForAnswer(): NodeJS.Timeout | undefined {
    if (this.#process === undefined) return undefined;
    const isStarting = this.#startWord > 0;
    return setTimeout(() => this.#listenOnce(), isStarting ? START_PATIENCE_MS : this.#options.patienceMs);
  }

  /** If it was this process that got no processor time, the answer has come but has not been read. So the loop turns once before the keeper is taken for stopped. */
  #listenOnce(): void {
    const impatience = this.#impatience;
    setImmediate(() => setImmediate(() => this.#impatience === impatience && this.#giveUp()));
  }

  #started(): void {
    this.#startWord = 0;
    this.#options.tell({ type: "keeper", state: "started", pid: this.#process?.pid ?? 0 });
  }

  /** The keeper is stopped or hangs. SIGKILL reaches it nevertheless, and its exit starts the next one. */
  #giveUp(): void {
    this.#impatience = undefined;
    this.#process?.kill("SIGKILL");
  }

  #lost(keeper: ChildProcess, why: string): void {
    if (!this.#isEnding && this.#process === keeper) this.#replace(why);
  }

  #replace(why: string): void {
    this.#process = undefined;
    this.#options.tell({ type: "keeper", state: "lost", why });
    const isShort = performance.now() - this.#startedAtMs < SHORT_LIFE_MS;
    this.#pauseMs = isShort ? Math.min(PAUSE_LAST_MS, Math.max(PAUSE_FIRST_MS, 2 * this.#pauseMs)) : 0;
    this.#pause = setTimeout(() => this.start(), this.#pauseMs);
  }
}

function programOf(name: "keeper" | "releaser"): string {
  const found = helperPath("supervisor", name);
  if (found === undefined) throw new Error(`conclave is incomplete: ${name}.js is missing. Install it again.`);
  return found;
}
