// @ts-check
// Runs as the first process of a pid namespace, where it decides which number the next process gets: a holder is killed, and its number given to somebody
// else before the waiter looks. Says what happened as one line of JSON.
//   argument: { modules, path, ttlMs }       start with: unshare -p --fork --mount-proc --kill-child=SIGKILL node …
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const LONGEST_MS = 8_000;
const options = JSON.parse(process.argv[2] ?? "{}");
const script = fileURLToPath(new URL("candidate.mjs", import.meta.url));

const holder = start("holder");
await holder.hears("elected");
const waiter = start("waiter");
await waiter.hears("leader");

waiter.child.kill("SIGSTOP");
const gone = once(holder.child, "exit");
holder.child.kill("SIGKILL");
await gone;
const number = holder.child.pid ?? 0;
const heir = takeNumber(number);
const before = process.hrtime.bigint();
waiter.child.kill("SIGCONT");
await Promise.race([waiter.hears("elected"), new Promise((resolve) => setTimeout(resolve, LONGEST_MS))]);
const tookMs = Number(process.hrtime.bigint() - before) / 1e6;
process.stdout.write(`${JSON.stringify({ number, heir: heir.pid, heirLives: isAlive(heir.pid ?? 0), tookMs })}\n`);
process.exit(); // and with the first process all others

/** @param {string} id */
function start(id) {
  const child = spawn(process.execPath, [script, JSON.stringify({ ...options, id })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  /** @type {{ event: string }[]} */
  const heard = [];
  /** @type {() => void} */
  let wake = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    heard.push(JSON.parse(line));
    wake();
  });
  const hears = async (/** @type {string} */ event) => {
    while (!heard.some((each) => each.event === event))
      await new Promise((resolve) => (wake = () => resolve(undefined)));
  };
  return { child, hears };
}

/** The kernel gives out numbers in turn, from the one after this; threads take some too, so it may need another try. @param {number} number */
function takeNumber(number) {
  for (let tries = 0; tries < 100; tries++) {
    writeFileSync("/proc/sys/kernel/ns_last_pid", `${number - 1}`);
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    if (child.pid === number) return child;
    child.kill("SIGKILL");
  }
  throw new Error(
    `nobody got the number ${number}; the last one was ${readFileSync("/proc/sys/kernel/ns_last_pid", "utf8")}`,
  );
}

/** @param {number} number */
function isAlive(number) {
  try {
    return process.kill(number, 0);
  } catch {
    return false;
  }
}
