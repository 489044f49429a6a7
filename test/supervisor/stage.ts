// `conclave run` as real processes, for tests that stop and kill them. The command line is bundled from src into a folder of the test, so that what runs
// is what is being tested, built or not.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bundle, root } from "../support/bundle.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

const ENTRIES = ["cli/main", "supervisor/keeper", "supervisor/releaser", "fencing/index"];

export interface RunOptions {
  readonly id: string;
  readonly command: readonly string[];
  readonly election?: string;
  /** A URL; if not said, the stage's own file. */
  readonly store?: string | undefined;
  /** Long enough for a busy machine, if not said. */
  readonly ttl?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A command to start it with: `unshare …`. */
  readonly under?: readonly string[];
}

export interface Told {
  readonly type: string;
  readonly state?: string;
  readonly pid?: number;
  readonly pids?: readonly number[];
  readonly token?: { readonly value: string };
  readonly why?: string;
  readonly error?: { readonly code: string };
  readonly exit?: { readonly code?: number; readonly signal?: string };
}

/** CLOCK_MONOTONIC, which all processes of the host share. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Until it is true; fails after `withinMs`. */
export async function until(isTrue: () => boolean, what: string, withinMs = 45_000): Promise<void> {
  if (!(await happens(isTrue, withinMs))) throw new Error(`never: ${what}`);
}

/** Whether it becomes true in time: for what a test expects, so that it fails by its expectation. */
export async function happens(isTrue: () => boolean, withinMs = 20_000): Promise<boolean> {
  const end = nowMs() + withinMs;
  while (!isTrue()) {
    if (nowMs() > end) return false;
    await sleep(2);
  }
  return true;
}

export class Stage {
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "conclave-run-"));
  readonly #runs = new Set<Run>();
  #built: Promise<unknown> | undefined;

  file(name: string): string {
    return path.join(this.folder, name);
  }

  get store(): string {
    return `sqlite:${this.file("elections.db")}`;
  }

  get log(): string {
    return this.file("acts.log");
  }

  /** A command that writes what the judge reads, for as long as it lives. */
  get actor(): readonly string[] {
    return [process.execPath, path.join(root, "test/supervisor/actor.mjs"), this.log];
  }

  /** The same with a fenced ledger; more arguments follow. */
  get ledgerActor(): readonly string[] {
    return [process.execPath, path.join(root, "test/supervisor/ledger-actor.mjs"), this.log];
  }

  readLog(): string {
    return existsSync(this.log) ? readFileSync(this.log, "utf8") : "";
  }

  async command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
    return await this.#start([], args, env);
  }

  /** `conclave run`, with its events as JSON on stderr. */
  async run(options: RunOptions): Promise<Run> {
    const { id, command, election = "x", store = this.store, ttl = "10s", flags = [], env = {}, under = [] } = options;
    const args = ["run", election, "--store", store, "--ttl", ttl, "--id", id, "--json", ...flags];
    return await this.#start(under, [...args, "--", ...command], env);
  }

  async #start(under: readonly string[], args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
    const run = new Run([...under, process.execPath, await this.program("cli/main"), ...args], {
      ...process.env,
      NODE_PATH: realpathSync(path.join(root, "node_modules")), // readable for other users, too
      STAGE_FOLDER: this.folder, // inherited by whatever is started: so nothing is left of a test that failed
      ...env,
    });
    this.#runs.add(run);
    return run;
  }

  /** The file of a program that this stage has built. */
  async program(name: string): Promise<string> {
    const modules = this.file("modules");
    const input = Object.fromEntries(ENTRIES.map((name) => [name, `src/${name}.ts`]));
    this.#built ??= bundle(input, { dir: modules, entryFileNames: "[name].js" });
    await this.#built;
    return path.join(modules, `${name}.js`);
  }

  /** Kills whatever still runs, keepers and children too: all of them name this folder in their arguments or environment. */
  async end(): Promise<void> {
    for (const run of this.#runs) run.signal("SIGKILL");
    await Promise.all([...this.#runs].map((run) => run.exited));
    for (const pid of processesThatName(this.folder)) kill(pid, "SIGKILL");
    await until(() => processesThatName(this.folder).length === 0, "all processes of the test are gone");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Run {
  readonly told: Told[] = [];
  readonly exited: Promise<number>;
  stdout = "";
  stderr = "";
  readonly #process: ChildProcess;

  constructor([command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv) {
    this.#process = spawn(command, args, { stdio: "pipe", env });
    this.exited = new Promise((resolve) =>
      this.#process.once("exit", (code, signal) => resolve(code ?? (signal === "SIGKILL" ? 137 : -1))),
    );
    this.#process.stdin?.on("error", () => {});
    this.#process.stdout?.on("data", (text: Buffer) => (this.stdout += text.toString()));
    let rest = "";
    this.#process.stderr?.on("data", (text: Buffer) => {
      this.stderr += text.toString();
      const lines = `${rest}${text.toString()}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("{")) this.told.push(JSON.parse(line) as Told);
    });
  }

  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error("it was not started");
    return pid;
  }

  /** Throws if it has not told of one: nobody is signalled by a number that is not known. */
  get keeperPid(): number {
    return this.#pidOf("keeper");
  }

  get childPid(): number {
    return this.#pidOf("child");
  }

  #pidOf(type: "keeper" | "child"): number {
    const pid = this.#last(type, "started")?.pid;
    if (pid === undefined) throw new Error(`no ${type} was told of: ${this.stderr}`);
    return pid;
  }

  #last(type: string, state: string): Told | undefined {
    return this.told.findLast((each) => each.type === type && each.state === state);
  }

  /** The `count`th thing of this kind that it tells. */
  async tells(type: string, state?: string, count = 1): Promise<Told> {
    const matching = (): readonly Told[] =>
      this.told.filter((each) => each.type === type && (state === undefined || each.state === state));
    await until(
      () => matching().length >= count || this.#process.exitCode !== null,
      `${type} ${state ?? ""}: ${this.stderr}`,
    );
    const found = matching()[count - 1];
    if (found === undefined) throw new Error(`it ended without ${type} ${state ?? ""}: ${this.stderr}`);
    return found;
  }

  /** Its child processes, with their arguments. */
  children(): readonly { readonly pid: number; readonly commandLine: string }[] {
    const pids = readProc(this.pid, `task/${this.pid}/children`).split(" ").filter(Boolean).map(Number);
    return pids.map((pid) => ({ pid, commandLine: readProc(pid, "cmdline") }));
  }

  type(text: string): void {
    this.#process.stdin?.end(text);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** SIGSTOP, but not in the middle of a commit: there it would keep SQLite's lock, and nobody could be elected while it is stopped (docs/stores/sqlite.md). */
  async stop(): Promise<void> {
    for (;;) {
      this.signal("SIGSTOP");
      await until(() => /\) [TZX] /.test(readProc(this.pid, "stat")), "it is stopped");
      if (!new RegExp(`WRITE ${this.pid} `).test(readFileSync("/proc/locks", "latin1"))) return;
      this.signal("SIGCONT");
      await sleep(5);
    }
  }
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    signalTo(pid, signal);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // Gone already.
  }
}

/** Gone, or a zombie. */
export function isGone(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return /\) [ZX] /.test(stat);
  } catch {
    return true;
  }
}

function processesThatName(text: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => !isGone(pid) && ["cmdline", "environ"].some((file) => readProc(pid, file).includes(text)));
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
