// The releaser of a keeper, started beforehand: the program that executes a will takes longer to start than to do its work, and nobody leads meanwhile. While a
// command runs, one releaser stands by with the store's client loaded. It sends nothing to the store, and has no will before it is told one. If it is gone by then, another is started.
// If its keeper dies, its input ends, and it exits. Uses built-ins only, as the keeper does.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { Estate } from "./keeper-messages.ts";

/** How long the will may take: after that nobody gains by it. */
const RELEASE_WITHIN_MS = 10_000;
/** The command has just begun, and comes first. */
const PREPARE_AFTER_MS = 500;

type Releaser = ChildProcessByStdio<Writable, null, null>;

export class Standby {
  #standing: Releaser | undefined;
  #waiting: NodeJS.Timeout | undefined;

  /** Starts the releaser soon, and once. `url` is the one of the will that is to come. */
  prepare(program: string, url: string): void {
    this.#waiting ??= setTimeout(() => {
      this.#standing = start(program);
      this.#standing.stdin.write(`${JSON.stringify({ url })}\n`);
    }, PREPARE_AFTER_MS);
  }

  /** Resolves when the will was executed, or will not be. A releaser that stood by may have died unnoticed: then another one begins. Executing a will twice does no harm. */
  async execute(program: string, will: Estate): Promise<void> {
    clearTimeout(this.#waiting);
    const standing = this.#standing;
    if (standing === undefined || (await hand(standing, will)) === "died") await hand(start(program), will);
  }
}

/** `died`: it was ended by a signal, and did not end by itself. */
function hand(releaser: Releaser, will: Estate): Promise<"ended" | "died"> {
  if (releaser.exitCode !== null || releaser.signalCode !== null) return Promise.resolve("died");
  return new Promise((resolve) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      releaser.kill("SIGKILL");
    }, RELEASE_WITHIN_MS);
    const done = (how: "ended" | "died"): void => {
      clearTimeout(timer);
      resolve(how);
    };
    releaser.once("error", () => done("ended"));
    releaser.once("close", (_code, signal) => done(signal !== null && !isLate ? "died" : "ended"));
    releaser.stdin.end(JSON.stringify(will));
  });
}

function start(program: string): Releaser {
  const releaser = spawn(process.execPath, [program], { stdio: ["pipe", "ignore", "inherit"] });
  releaser.on("error", () => {});
  releaser.stdin.on("error", () => {});
  return releaser;
}
