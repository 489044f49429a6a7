// The command line as users run it: a process. Its code is bundled from src into a folder of the test, with the programs that it starts beside it, so
// that what runs is what is being tested, built or not.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bundle, root } from "../support/bundle.ts";

const ENTRIES = [
  "cli/main",
  "cli/demo/candidate",
  "cli/partitions/member",
  "cli/drill/candidate",
  "supervisor/keeper",
  "supervisor/releaser",
];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A folder for files and for the bundled command. `end` kills what still runs and removes it. */
export class CommandLine {
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "conclave-cli-"));
  readonly #running = new Set<Running>();
  #built: Promise<unknown> | undefined;

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** `under`: what the command is run through. */
  async start(
    args: readonly string[],
    environment: Environment = {},
    uid?: number,
    under: readonly string[] = [],
  ): Promise<Running> {
    const input = Object.fromEntries(ENTRIES.map((name) => [name, `src/${name}.ts`]));
    this.#built ??= bundle(input, { dir: this.file("modules"), entryFileNames: "[name].js" });
    await this.#built;
    const env = {
      ...process.env,
      CONCLAVE_STORE: undefined,
      KUBERNETES_SERVICE_HOST: undefined,
      // The bindings are found from the bundle as from the repository.
      NODE_PATH: path.join(root, "node_modules"),
      ...environment,
    };
    const running = new Running([...under, process.execPath, this.file("modules/cli/main.js"), ...args], env, uid);
    this.#running.add(running);
    return running;
  }

  /** Runs it to its end. */
  async run(args: readonly string[], environment?: Environment, uid?: number): Promise<Ended> {
    return (await this.start(args, environment, uid)).ended;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.kill()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Running {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  stdout = "";
  stderr = "";

  constructor([command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv, uid: number | undefined) {
    const identity = uid === undefined ? {} : { uid };
    this.#child = spawn(command, args, { stdio: "pipe", env, ...identity });
    this.#child.stdout?.on("data", (text: Buffer) => this.#hear(() => (this.stdout += text.toString())));
    this.#child.stderr?.on("data", (text: Buffer) => this.#hear(() => (this.stderr += text.toString())));
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#hear(() => {});
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  #hear(take: () => void): void {
    take();
    for (const wake of this.#waiting) wake();
  }

  /** The lines of stdout, when there are at least so many. */
  async lines(count: number): Promise<readonly string[]> {
    for (;;) {
      const lines = this.stdout.split("\n").slice(0, -1);
      if (lines.length >= count) return lines;
      if (this.#child.exitCode !== null) throw new Error(`ended after ${lines.length} lines: ${this.stderr}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  closeStdout(): void {
    this.#child.stdout?.destroy();
  }

  closeStderr(): void {
    this.#child.stderr?.destroy();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}
