// @ts-check
// To be loaded before a program of a test (node --import): its clocks show what the file DRIVEN_CLOCK says, and it stops itself where that says so.
//   the file: {"atMs": number, "stepMs"?: number, "slowKill"?: boolean, "stopIn"?: string, "nth"?: number}
//     stepMs  each reading is so much later than the one before: a host that is slow
//     slowKill  a signal has had its effect when the call that sends it returns
//     stopIn  the function that reads the clock, as a stack names it: at the nth such reading the program stops (SIGSTOP), before it sees the time
import fs, { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const file = process.env["DRIVEN_CLOCK"] ?? "";
let text = "";
let matches = 0;
let steps = 0;

function nowMs() {
  const { atMs, stepMs = 0 } = read();
  return atMs + stepMs * steps++;
}

/** @returns {{ atMs: number, stepMs?: number, slowKill?: boolean, stopIn?: string, nth?: number }} */
function read() {
  try {
    const found = readFileSync(file, "utf8");
    if (found !== text) [text, matches, steps] = [found, 0, 0];
  } catch {
    // No descriptor is left: the time stands still.
  }
  return JSON.parse(text);
}

/** Error, this, hrtime, the clock's own two, and then who asked it. */
function stopIfWanted() {
  const { stopIn, nth = 1 } = read();
  if (stopIn === undefined || new Error("where").stack?.split("\n")[5]?.includes(stopIn) !== true) return;
  matches++;
  if (matches === nth) process.kill(process.pid, "SIGSTOP");
}

function hrtime() {
  stopIfWanted();
  const ms = nowMs();
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}

const SEEN_AFTER_MS = 300;
const send = process.kill.bind(process);
/** @param {number} pid @param {string | number} [signal] */
process.kill = (pid, signal) => {
  const isSent = send(pid, signal);
  if (read().slowKill === true) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SEEN_AFTER_MS);
  return isSent;
};

const nanoseconds = process.hrtime.bigint.bind(process.hrtime);
Object.assign(process, { hrtime: Object.assign(hrtime, { bigint: nanoseconds }) });
const { openSync } = fs;
/** @param {Parameters<typeof openSync>} args */
fs.openSync = (...args) => {
  if (args[0] === "/proc/uptime") throw new Error("this test drives the clocks");
  return openSync(...args);
};
os.uptime = () => nowMs() / 1000;
syncBuiltinESMExports();
