// @ts-check
// A process that does what it is told, one line there and one line back: bench/networked/obedient.mjs, or a peer that knows the same commands.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class Told {
  /** @type {import("node:child_process").ChildProcessByStdio<import("node:stream").Writable, import("node:stream").Readable, null>} */
  #child;
  /** @type {AsyncIterator<string>} */
  #answers;

  /** @param {string} command @param {readonly string[]} args */
  constructor(command, args) {
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** The numbers of its answer. @param {string} command */
  async tell(command) {
    this.#child.stdin.write(`${command}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true || !value.startsWith("ok")) throw new Error(`${command}: ${value ?? "the process has ended"}`);
    return value.split(" ").slice(1).map(Number);
  }

  async end() {
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await exited;
  }
}
