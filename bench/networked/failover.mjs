// @ts-check
// One leader and one that waits, as processes; the leader is killed or told to leave, the next one is timed from before the signal until its word that it
// leads has arrived here; then it is the leader, and another one waits. The same for ours and for every peer.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { EXTENT, say } from "./rows.mjs";
import { difference } from "./turns.mjs";

/** @typedef {{ readonly command: string, readonly args: readonly string[], readonly env?: Record<string, string>, readonly elected: RegExp, readonly leaves: NodeJS.Signals }} Recipe */

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const candidate = fileURLToPath(new URL("candidate.mjs", import.meta.url));
const ELECTED_WITHIN_MS = 90_000;

/** Ours, or a peer that is a library of Node. @param {string} kind @param {string} url @param {string} name @param {number} ttlMs @returns {Recipe} */
export function nodeRecipe(kind, url, name, ttlMs) {
  const args = [candidate, kind, url, name, `${ttlMs}`];
  return { command: process.execPath, args, elected: /^elected$/m, leaves: "SIGTERM" };
}

/** `etcdctl` prints the key that it holds, and leaves on Ctrl-C. @param {string} url @param {readonly string[]} args @returns {Recipe} */
export function etcdctlRecipe(url, ...args) {
  const env = { ETCDCTL_API: "3" };
  return { command: "etcdctl", args: [`--endpoints=${url}`, ...args], env, elected: /\//, leaves: "SIGINT" };
}

class Program {
  #said = "";
  #electedAt = 0;
  #isOver = false;

  /** @param {Recipe} recipe */
  constructor({ command, args, env = {}, elected, leaves }) {
    this.leaves = leaves;
    this.child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
    this.exited = new Promise((resolve) => this.child.once("exit", resolve));
    void this.exited.then(() => (this.#isOver = true));
    this.child.stdout.on("data", (text) => {
      const at = performance.now();
      this.#said += text;
      if (this.#electedAt === 0 && elected.test(this.#said)) this.#electedAt = at;
    });
  }

  get isElected() {
    return this.#electedAt > 0;
  }

  async elected() {
    const until = performance.now() + ELECTED_WITHIN_MS;
    while (this.#electedAt === 0) {
      if (this.#isOver) throw new Error(`ended before it was elected: ${this.#said}`);
      if (performance.now() > until) throw new Error(`not elected within ${ELECTED_WITHIN_MS} ms: ${this.#said}`);
      await sleep(1);
    }
    return this.#electedAt;
  }
}

/**
 * @param {Recipe} recipe @param {object} options
 * @param {"crash" | "leave"} options.how
 * @param {number} options.rounds
 * @param {number} options.settleMs after which the next one certainly waits
 * @param {number} [options.phaseMs] the instants of the signals are spread over this long, so that they meet every moment between two renewals
 * @param {() => Promise<void>} [options.joined] resolves when the next one has joined the queue; without it, settleMs has to be enough for that too
 * @param {(round: () => Promise<void>) => Promise<void>} [options.around] called with each exchange of leaders
 * @returns {Promise<number[]>} how long each took, ms
 */
export async function takeOver(recipe, options) {
  const { how, rounds, settleMs, phaseMs = 0, joined, around = (round) => round() } = options;
  /** @type {number[]} */
  const samples = [];
  let leader = new Program(recipe);
  await leader.elected();
  for (let round = 0; round < rounds; round++) {
    const next = new Program(recipe);
    await joined?.();
    await sleep(settleMs + (phaseMs * round) / rounds);
    if (next.isElected) {
      // The machine was so busy that the term ended by itself. What follows would measure nothing.
      say("a leader had lost its term before it was to lose it; that round is left out");
      leader.child.kill("SIGKILL");
      await leader.exited;
      leader = next;
      continue;
    }
    await around(async () => {
      const from = performance.now();
      leader.child.kill(how === "crash" ? "SIGKILL" : leader.leaves);
      samples.push((await next.elected()) - from);
      await leader.exited;
    });
    leader = next;
  }
  leader.child.kill("SIGKILL");
  await leader.exited;
  if (samples.length === 0) throw new Error("no leader kept its term until it was to lose it");
  return samples;
}

/** @typedef {{ samples: number[], counts: Readonly<Record<string, number>>[] }} Exits how long each took, ms; and what the store was asked meanwhile */

/** Leaders that leave, one pair at a time, so that what is counted is theirs. @param {Recipe} recipe @param {{ count: () => Promise<import("./turns.mjs").Counts>, settleMs: number, rounds?: number }} options @returns {Promise<Exits>} */
export async function leaving(recipe, { count, settleMs, rounds = EXTENT.exits }) {
  /** @type {Exits["counts"]} */
  const counts = [];
  const around = async (/** @type {() => Promise<void>} */ round) => {
    const before = await count();
    await round();
    counts.push(difference(before, await count()).by);
  };
  const samples = await takeOver(recipe, { how: "leave", rounds, settleMs, around });
  return { samples, counts };
}

/** Several elections of their own at once. @param {number} pairs @param {(pair: number) => Promise<number[]>} each */
export async function together(pairs, each) {
  return (await Promise.all(Array.from({ length: pairs }, (_, pair) => each(pair)))).flat();
}
