// Candidates as real processes, for tests: started, heard, stopped, killed. Their code is bundled from src into a folder of the test, so that what runs
// is what is being tested, built or not.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { KeeperOptions } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import { bundle, root } from "./bundle.ts";

export interface Heard {
  readonly at: number;
  readonly event: string;
  readonly token?: string;
  readonly domain?: string;
  readonly leader?: string;
  readonly reason?: string;
  readonly code?: string;
  readonly message?: string;
  readonly held?: boolean;
  readonly aborted?: readonly boolean[];
  readonly wall?: number;
  readonly cpuMs?: number;
  readonly pid?: number;
  readonly heard?: Readonly<Record<string, number>>;
}

/** What candidate.mjs is told; it says what each means. */
export interface CandidateOptions {
  /** A file for sqlite:, or any store by its URL. */
  readonly path?: string;
  readonly store?: string;
  readonly id: string;
  /** Of the election; "x" if not given. */
  readonly name?: string;
  readonly ttlMs: number;
  readonly drainMs?: number;
  readonly renewal?: "loop" | "thread";
  readonly stallAfterMs?: number;
  readonly holdMs?: number;
  readonly busyMs?: number;
  readonly log?: string;
  readonly ledger?: string;
  readonly onOverstay?: "report" | "exit";
  readonly stubborn?: boolean;
  readonly unfenced?: boolean;
  readonly keeper?: KeeperOptions;
  readonly child?: string;
  /** So many candidates in one process (herd.mjs), instead of one: each in a thread of its own, or all in one. */
  readonly threads?: number;
  readonly candidates?: number;
  /** A command to start it with: `unshare -n -p …`. */
  readonly under?: readonly string[];
}

/** CLOCK_MONOTONIC, as the processes stamp what they say. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A folder for databases, and the processes that use them. `end` kills what still runs and removes it. */
export class Stage {
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "conclave-processes-"));
  readonly #modules: string = path.join(this.folder, "modules");
  readonly #players = new Set<Player>();
  #built: Promise<unknown> | undefined;

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** The folder with the bundle: index.js, sqlite.js, fencing.js, renewal-thread.js, app-keeper.js. */
  async modules(): Promise<string> {
    const input = {
      index: "src/index.ts",
      sqlite: "src/stores/sqlite.ts",
      fencing: "src/fencing/index.ts",
      "renewal-thread": "src/election/renewal-thread.ts",
      "app-keeper": "src/keeper/app-keeper.ts",
    };
    this.#built ??= bundle(input, { dir: this.#modules });
    await this.#built;
    return this.#modules;
  }

  async start(options: CandidateOptions): Promise<Player> {
    const player = new Player(await this.modules(), options);
    this.#players.add(player);
    return player;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#players].map((player) => player.kill()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Player {
  readonly id: string;
  readonly heard: Heard[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Set<() => void>();
  #errors = "";

  constructor(modules: string, { under = [], ...options }: CandidateOptions) {
    this.id = options.id;
    const script = path.join(
      root,
      "test/support",
      (options.threads ?? options.candidates) === undefined ? "candidate.mjs" : "herd.mjs",
    );
    // The bindings are found from the bundle as from the repository.
    const env = { ...process.env, NODE_PATH: path.join(root, "node_modules") };
    const [command, ...args] = [...under, process.execPath, script, JSON.stringify({ modules, ...options })];
    this.#child = spawn(command ?? process.execPath, args, { stdio: "pipe", env });
    this.#exited = new Promise((resolve) => this.#child.once("close", () => resolve()));
    this.#child.stderr?.on("data", (text: Buffer) => (this.#errors += text.toString()));
    this.#child.stdin?.on("error", () => {});
    let rest = "";
    this.#child.stdout?.on("data", (text: Buffer) => {
      const lines = `${rest}${text.toString()}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.heard.push(JSON.parse(line) as Heard);
      for (const wake of this.#waiting) wake();
    });
    this.#child.once("close", () => {
      for (const wake of this.#waiting) wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The first thing of this kind that it says from `fromMs` on. */
  async hears(event: string, fromMs = 0, withinMs = 15_000): Promise<Heard> {
    const until = nowMs() + withinMs;
    for (;;) {
      const found = this.heard.find((each) => each.event === event && each.at >= fromMs);
      if (found !== undefined) return found;
      if (nowMs() > until || this.#child.exitCode !== null)
        throw new Error(`${this.id} never said "${event}": ${JSON.stringify(this.heard.slice(-5))} ${this.#errors}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.max(1, until - nowMs()));
        this.#waiting.add(wake);
      });
    }
  }

  /** Whether it leads, by its own last word. */
  get leads(): boolean {
    const last = this.heard.findLast(({ event }) => event === "elected" || event === "lost" || event === "resigned");
    return last?.event === "elected";
  }

  tell(command: "resign" | "stand" | "close" | "write" | "time" | "count" | `${"block" | "spin"} ${number}`): void {
    this.#child.stdin?.write(`${command}\n`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** Resolves with its exit code when it has ended; null if by a signal. */
  async exited(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }

  /** What it has written to stderr. */
  get errors(): string {
    return this.#errors;
  }
}

/** The smallest of `values` that at least this share of them does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** When the present holder's ttl runs out, as its row says. */
export async function heldUntilMs(file: string): Promise<number> {
  const store = sqlite(file);
  const looked = await store.look([{ name: "x" }], { signal: new AbortController().signal, sentAtMs: nowMs() });
  await store.close();
  return looked.kind === "seen" ? (looked.seats[0]?.heldUntilMs ?? 0) : 0;
}

/** Waits for a keep. One has just been committed then, and the next is some way off: stopped in the middle of a commit, a process keeps SQLite's lock. */
export async function nextKeep(file: string): Promise<number> {
  const before = await heldUntilMs(file);
  for (;;) {
    const now = await heldUntilMs(file);
    if (now !== before) return now;
    await sleep(10);
  }
}
