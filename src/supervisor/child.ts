// A child that begins only when it is told to. First a gate is started: a shell that waits for one line and then becomes the command. In between
// the keeper is told of it, and a cgroup is made around it. If the supervisor dies before it opens the gate, the line never comes, and the gate ends.
//
// The child leads a process group (and a session) of its own; stdin, stdout and stderr are those of the supervisor, or pipes to it. Descriptor 4 is the one that waiters watch,
// where the store has such a descriptor. So waiters know that a child lives which outlives supervisor and keeper (src/stores/sqlite/beacon.ts).
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { type Cell, followCell, killCell, livesIn, type Lives, terminateCell } from "./cell.ts";
import { discard, enclose } from "./cgroup.ts";
import { identify, isGone } from "../keeper/processes.ts";

export type Exit = { readonly code: number } | { readonly signal: NodeJS.Signals };

const GATE = "IFS= read -r CONCLAVE_GATE <&3 || exit 125; unset CONCLAVE_GATE; exec 3<&-; exec";
const ENV = "/usr/bin/env";
const LOOK_EVERY_MS = 2;
const LOOK_SELDOM_MS = 50;
/** How long a descendant may live unseen. One look costs a few reads for each process of the command. */
const FOLLOW_EVERY_MS = 500;

export class Child {
  readonly cell: Cell;
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;
  #hasBegun = false;
  #hasExited = false;
  #wasEnded = false;
  #following: NodeJS.Timeout | undefined;

  private constructor(process: ChildProcess, cell: Cell) {
    this.#process = process;
    this.cell = cell;
    this.exited = new Promise((resolve) => {
      const done = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.#hasExited = true;
        resolve(signal === null ? { code: code ?? 125 } : { signal });
      };
      if (process.exitCode !== null || process.signalCode !== null) done(process.exitCode, process.signalCode);
      else process.once("exit", done);
    });
  }

  /** `mark` is in `env` already. Rejects if not even the gate can be started; then nothing of it is left. */
  static async start(
    command: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
    mark: string,
    life: number | undefined,
    streams: "inherit" | "pipe" = "inherit",
  ): Promise<Child> {
    const gate = spawn("/bin/sh", ["-c", gateFor(command, env), "conclave", ...command], {
      detached: true,
      stdio: [streams, streams, streams, "pipe", ...(life === undefined ? [] : [life])],
      env: { ...env, ...carried(env) },
    });
    await new Promise((resolve, reject) => gate.once("spawn", () => resolve(undefined)).once("error", reject));
    (gate.stdio[3] as Writable).on("error", () => {}); // the gate has gone, which its exit will say
    const pid = gate.pid ?? 0;
    const [kind = "", ...name] = mark.split(":");
    try {
      const child = identify(pid) ?? { pid, startedAt: "gone" };
      return new Child(gate, { child, mark, cgroup: enclose(pid, kind, name.join("-")), known: [] });
    } catch (error) {
      gate.kill("SIGKILL");
      throw error;
    }
  }

  get pid(): number {
    return this.cell.child.pid;
  }

  /** stdin, stdout and stderr where they are pipes; null where they are the supervisor's own. */
  get streams(): Pick<ChildProcess, "stdin" | "stdout" | "stderr"> {
    return this.#process;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(): void {
    this.#hasBegun = true;
    this.#following = setInterval(() => followCell(this.cell), FOLLOW_EVERY_MS);
    (this.#process.stdio[3] as Writable).end("go\n");
  }

  /** True if this process told the child to stop, or killed it, while it still ran. Otherwise a child that has ended has ended by itself. */
  get wasEnded(): boolean {
    return this.#wasEnded;
  }

  terminate(signal: NodeJS.Signals = "SIGTERM"): void {
    this.#wasEnded ||= this.#runs();
    terminateCell(this.cell, signal);
  }

  kill(): void {
    this.#wasEnded ||= this.#runs();
    killCell(this.cell);
  }

  /** Sends a signal that does not ask the child to end. */
  forward(signal: NodeJS.Signals): void {
    terminateCell(this.cell, signal);
  }

  /** Asks the kernel, because this process may not have heard of the child's end yet. A child that cannot be looked at may run. */
  #runs(): boolean {
    try {
      return !this.#hasExited && !isGone(this.cell.child);
    } catch {
      return true;
    }
  }

  /** Which processes of the cell live, whether or not this process has heard of the child's end. */
  lives(): Lives {
    return livesIn(this.cell);
  }

  /**
   * Resolves when nothing of the cell can act any more. While the child itself runs, the others need not be looked for. `isDue` is asked again and again:
   * once it is true, everything that remains is killed. `isWaitedFor` says, while only suspects are left, whether they are waited for. Never rejects, because
   * the term is given back afterwards.
   */
  async gone(isDue: () => boolean, isWaitedFor: (suspects: readonly number[]) => boolean): Promise<void> {
    for (let round = 0; ; round++) {
      const found: Lives = this.#hasExited ? this.lives() : { is: "occupied" };
      if (found.is === "empty" || (found.is === "unsure" && !isWaitedFor(found.suspects))) break;
      if (found.is === "occupied" && isDue()) this.kill();
      const napMs = Math.min(LOOK_SELDOM_MS, LOOK_EVERY_MS + round);
      let timer: NodeJS.Timeout | undefined;
      const nap = new Promise((resolve) => (timer = setTimeout(resolve, napMs)));
      await (this.#hasExited ? nap : Promise.race([nap, this.exited]));
      clearTimeout(timer);
    }
    clearInterval(this.#following);
    if (this.cell.cgroup !== undefined) discard(this.cell.cgroup);
  }
}

/** A shell drops variables that it could not name itself (`discovery.type`), and changes a few others. */
function isLostInShell(name: string): boolean {
  return !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || ["IFS", "OPTIND", "PPID"].includes(name);
}

/**
 * The variables that the shell would lose, as whole assignments under names that it keeps; `env` makes them again. They are not passed as arguments,
 * which everybody could read while the gate waits.
 */
function carried(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const lost = Object.entries(env).filter(([name, value]) => value !== undefined && isLostInShell(name));
  return Object.fromEntries(lost.map(([name, value], index) => [`CONCLAVE_CARRIED_${index}`, `${name}=${value}`]));
}

/** `env` would take a command with `=` in its name for an assignment, so such a command does not get the variables that the shell loses. */
function gateFor([command = ""]: readonly string[], env: Readonly<Record<string, string | undefined>>): string {
  const names = Object.keys(carried(env));
  if (names.length === 0 || command.includes("=")) return `${GATE} "$@"`;
  const forgotten = names.map((name) => `-u ${name}`).join(" ");
  return `${GATE} ${ENV} ${forgotten} -- ${names.map((name) => `"$${name}"`).join(" ")} "$@"`;
}
