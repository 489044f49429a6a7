// A candidate of a drill as the drill sees it: the drill starts, hears, tells, kills, stops it and cuts it off.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DrillCandidateOptions, DrillMessage, Write } from "./messages.ts";
import type { Cable } from "./network.ts";

export interface PlayerOptions extends DrillCandidateOptions {
  readonly program: URL;
  /** Its way to the store, if that can be cut. */
  readonly cable: Cable | undefined;
  readonly hear: (player: DrillPlayer, said: Exclude<DrillMessage, Write>) => void;
  readonly write: (player: DrillPlayer, write: Write) => void;
}

export class DrillPlayer {
  readonly id: string;
  readonly cable: Cable | undefined;
  /** Resolves when the process is gone and everything it has said was heard. */
  readonly gone: Promise<void>;
  readonly #child: ChildProcess;
  isWaiting = false;
  isLeading = false;
  isDead = false;
  /** Writes of it that have arrived, and whether its own count is another. */
  #writes = 0;
  miscount: string | undefined;
  /** Whether it has compared its count. */
  isCounted = false;
  #errors = "";

  constructor({ program, cable, hear, write, ...options }: PlayerOptions) {
    this.id = options.id;
    this.cable = cable;
    const [command, ...args] = [...(cable?.prefix ?? []), process.execPath, fileURLToPath(program)];
    this.#child = spawn(command, args, { stdio: "pipe" });
    this.gone = new Promise((resolve) => {
      const end = (): void => {
        this.isDead = true;
        this.isLeading = false;
        resolve();
      };
      this.#child.once("close", end);
      this.#child.once("error", (error) => {
        this.#errors += error.message;
        if (this.#child.pid === undefined) end();
      });
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stderr?.on("data", (text: Buffer) => (this.#errors += text.toString()));
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on("line", (line) => {
        const said = JSON.parse(line) as DrillMessage;
        if (said.event === "write") {
          this.#writes++;
          return write(this, said);
        }
        if (said.event === "written") this.#compare(said.writes);
        this.isWaiting ||= said.event === "waiting";
        if (said.event === "elected") this.isLeading = true;
        if (said.event === "lost" || said.event === "resigning") this.isLeading = false;
        hear(this, said);
      });
    const { id, url, election, ttlMs, unfenced, log, composeMs } = options;
    this.tell(JSON.stringify({ id, url, election, ttlMs, unfenced, log, composeMs } satisfies DrillCandidateOptions));
  }

  /** A pipe keeps the order: all writes that it made before it counted have arrived. */
  #compare(counted: number): void {
    this.isCounted = true;
    if (counted !== this.#writes)
      this.miscount = `${this.id} has written ${counted} times, and ${this.#writes} of them have arrived`;
  }

  /** The last trouble that it reported. */
  get complaint(): string {
    return this.#errors.trim().split("\n").at(-1) ?? "";
  }

  tell(words: string): void {
    this.#child.stdin?.write(`${words}\n`);
  }

  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(name);
  }

  /** Makes it leave in good order if it can, else by force. */
  async leave(withinMs: number): Promise<void> {
    this.signal("SIGCONT");
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.signal("SIGKILL"), withinMs);
    await this.gone;
    clearTimeout(timer);
  }
}
