// @ts-check
// Runs test files with a patch applied to src, for scripts that take a defence out and want a test to notice. A few processes share the runs; each starts
// vitest once (scripts/patched-test-runner.mjs). One that hangs is killed with all that it has started, and another takes its place.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Order
 * @property {string} test its path in the repository
 * @property {string} patch the path of a patch; "": none
 * @property {string} name only this test of the file; "": all, until the first fails
 *
 * @typedef {object} TestOutcome
 * @property {"passes" | "fails" | "hangs" | "cannot run"} verdict
 * @property {string} test the first that failed, with what it is described in
 * @property {string} story the first line of its failure; why it cannot run
 * @property {boolean} isAssertion whether an expectation was not met; else something was thrown
 */

/** Enough to start vitest on a busy machine. */
const START_MS = 120_000;

export class PatchedTests {
  /** @type {Runner[]} */
  #idle = [];

  /**
   * @param {Order} order
   * @param {number} longestMs without its defence a test may also never end
   * @returns {Promise<TestOutcome>}
   */
  async run(order, longestMs) {
    const runner = this.#idle.pop() ?? new Runner();
    const outcome = await runner.run(order, longestMs);
    if (runner.isAlive) this.#idle.push(runner);
    return outcome;
  }

  close() {
    for (const runner of this.#idle.splice(0)) runner.kill();
  }
}

class Runner {
  #child = fork(fileURLToPath(new URL("patched-test-runner.mjs", import.meta.url)), {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    detached: true,
  });
  #ready = this.#says(START_MS);
  isAlive = true;

  /** @param {Order} order @param {number} longestMs @returns {Promise<TestOutcome>} */
  async run(order, longestMs) {
    const ready = await this.#ready;
    if (ready !== "ready") return ready;
    const outcome = this.#says(longestMs);
    this.#child.send(order);
    return await outcome;
  }

  /** What it says next. If it says nothing in time, it is killed. @param {number} withinMs @returns {Promise<any>} */
  #says(withinMs) {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (/** @type {unknown} */ said) => {
        clearTimeout(timer);
        child.off("message", end).off("exit", exited);
        resolve(said);
      };
      const giveUp = (/** @type {"hangs" | "cannot run"} */ verdict, /** @type {string} */ story) => {
        this.kill();
        end({ verdict, test: "", story, isAssertion: false });
      };
      const exited = () => giveUp("cannot run", "vitest has ended");
      const timer = setTimeout(() => giveUp("hangs", `never ends (${withinMs / 1000} s)`), withinMs);
      child.on("message", end).on("exit", exited);
    });
  }

  /** With its process group: vitest has processes of its own. */
  kill() {
    this.isAlive = false;
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
}
