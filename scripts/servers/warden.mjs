// @ts-check
// Outlives the process that started servers, by a moment: when its standard input ends, because that process has ended in any way at all, it kills the servers that
// are left, runs what undoes the rest (namespaces, mounts) and removes their folders. It reads lines: `process PID START`, `gone PID`, `folder PATH`,
// `removed PATH`, `undo COMMAND`, `undone COMMAND` with a command as JSON. A process is killed only if its start time is the one it was reported with: numbers of processes
// are used again.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";

/** @type {Map<string, string>} */
const processes = new Map();
/** @type {Set<string>} */
const folders = new Set();
/** @type {Set<string>} the last one first */
const undoing = new Set();

for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(name, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, what = "", start = ""] = line.split(" ");
  if (verb === "process") processes.set(what, start);
  else if (verb === "gone") processes.delete(what);
  else if (verb === "folder") folders.add(line.slice("folder ".length));
  else if (verb === "removed") folders.delete(line.slice("removed ".length));
  else if (verb === "undo") undoing.add(line.slice("undo ".length));
  else if (verb === "undone") undoing.delete(line.slice("undone ".length));
}

for (const [pid, start] of processes) if (startOf(pid) === start) process.kill(Number(pid), "SIGKILL");
await new Promise((resolve) => setTimeout(resolve, 200));
for (const line of [...undoing].toReversed()) {
  const [command = "", ...args] = JSON.parse(line);
  spawnSync(command, args);
}
for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** @param {string} pid */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
