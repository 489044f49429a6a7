// @ts-check
// One server as a process that tests can kill, pause, stop and start again, on the ports and in the folder it had. What every file beside this one is made of.
//
// A server is ended by its own process id, never by name. If the process that started it dies without a word, the warden ends it and removes its folder.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} ServerNode One server of a cluster.
 * @property {string} url
 * @property {number} pid of the process that runs now
 * @property {string} log the file of what it printed
 * @property {() => Promise<void>} kill SIGKILL, and waits until it is gone
 * @property {() => void} pause SIGSTOP, and waits until it stands still
 * @property {() => void} resume SIGCONT
 * @property {() => Promise<void>} stop asks it to end; after ten seconds SIGKILL
 * @property {(options?: { wait?: boolean }) => Promise<void>} restart starts it again where it was; waits until it is ready unless `wait` is false
 *
 * @typedef {object} Servers
 * @property {string[]} urls
 * @property {{ name: string, password: string }} [user] whom a candidate has to be, where the server asks
 * @property {ServerNode[]} nodes
 * @property {() => Promise<string>} version asked over the server's own protocol
 * @property {() => Promise<void>} stop everything, and removes the folder if it was made here
 */

/**
 * @param {object} options
 * @param {string} options.url what `node.url` says
 * @param {string} options.command
 * @param {readonly string[]} options.args
 * @param {string} options.log file for what it prints
 * @param {Record<string, string>} [options.env]
 * @param {NodeJS.Signals} [options.stopSignal] what asks it to end
 * @param {() => Promise<boolean>} options.ready asked until it says yes; may throw while the server starts
 * @param {boolean} [options.wait] false: do not wait until it is ready (a member alone has no quorum)
 * @returns {Promise<ServerNode>}
 */
export async function launch({ url, command, args, log, env = {}, stopSignal = "SIGTERM", ready, wait = true }) {
  let { child, exited } = begin();
  if (wait) await untilReady();

  function begin() {
    const output = openSync(log, "a");
    const child = spawn(command, [...args], { stdio: ["ignore", output, output], env: { ...process.env, ...env } });
    closeSync(output);
    /** @type {Promise<Error | undefined>} */
    const exited = new Promise((resolve) => {
      child.once("error", (error) => resolve(error));
      child.once("exit", () => resolve(undefined));
    });
    if (child.pid !== undefined) tellWarden(`process ${child.pid} ${startOf(child.pid)}`);
    return { child, exited };
  }

  async function untilReady() {
    const from = performance.now();
    for (;;) {
      if (await ready().catch(() => false)) return;
      const error = await Promise.race([exited, sleep(25, "running")]);
      if (error === "running" && performance.now() - from < 60_000) continue;
      await end("SIGKILL");
      const printed = readFileSync(log, "utf8").split("\n").slice(-12).join("\n");
      throw new Error(`${command} did not become ready: ${error instanceof Error ? error.message : ""}\n${printed}`);
    }
  }

  /** @param {NodeJS.Signals} signal */
  async function end(signal) {
    if (child.pid === undefined) return;
    child.kill(signal);
    if (signal !== "SIGKILL") child.kill("SIGCONT");
    const gone = await Promise.race([exited.then(() => true), sleep(10_000, false, { ref: false })]);
    if (!gone) child.kill("SIGKILL");
    await exited;
    tellWarden(`gone ${child.pid}`);
  }

  return {
    url,
    log,
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => end("SIGKILL"),
    stop: () => end(stopSignal),
    pause: () => {
      child.kill("SIGSTOP");
      untilStopped(child.pid ?? 0);
    },
    resume: () => void child.kill("SIGCONT"),
    restart: async ({ wait = true } = {}) => {
      await end(stopSignal);
      ({ child, exited } = begin());
      if (wait) await untilReady();
    },
  };
}

const STOPS_WITHIN_MS = 5_000;

/** A signal is on its way for a moment, to each thread: meanwhile a server still answers. Stopped, or gone. @param {number} pid */
export function untilStopped(pid) {
  const givenUpAt = performance.now() + STOPS_WITHIN_MS;
  while (statesOf(pid).some((state) => !/[TtZX]/.test(state))) {
    if (performance.now() > givenUpAt) throw new Error(`process ${pid} does not stop`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

/** Of every thread that is there; none where there is no /proc. @param {number} pid @returns {string[]} */
function statesOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => statOf(`${pid}/task/${thread}`).slice(0, 1));
  } catch {
    return [];
  }
}

/** State, parent, …; nothing of a process that is gone. @param {string} process its folder in /proc @returns {string[]} */
export function statOf(process) {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** A folder of our own, and how to remove it. Removed by the warden if nobody else does. @param {string} name */
export function privateFolder(name) {
  const folder = mkdtempSync(path.join(tmpdir(), `conclave-${name}-`));
  tellWarden(`folder ${folder}`);
  const remove = () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    tellWarden(`removed ${folder}`);
  };
  return { folder, remove };
}

/**
 * Runs a command, and the one that undoes it when it is said so, or by the warden if nobody says so.
 * @param {readonly string[]} doing @param {readonly string[]} undoing @returns {() => void}
 */
export function doUntil(doing, undoing) {
  tellWarden(`undo ${JSON.stringify(undoing)}`);
  runCommand(doing);
  return () => {
    runCommand(undoing);
    tellWarden(`undone ${JSON.stringify(undoing)}`);
  };
}

/** @param {readonly string[]} command */
export function runCommand([command = "", ...args]) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} failed: ${stderr ?? ""}${error?.message ?? ""}`.trim());
}

/**
 * Ports that nobody listens on. Below the range that the kernel hands out by itself, so that a server that is down for a while finds its port free again.
 * @param {number} count
 * @param {number} [second] how far above each port there has to be another free one, for a server that takes it by itself
 */
export async function freePorts(count, second = 0) {
  /** @type {Set<number>} */
  const ports = new Set();
  while (ports.size < count) {
    const port = 12_000 + Math.floor(Math.random() * (20_000 - second));
    if ((await isFree(port)) && (second === 0 || (await isFree(port + second)))) ports.add(port);
  }
  return [...ports];
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** @type {import("node:child_process").ChildProcess | undefined} */
let warden;

/** @param {string} line */
function tellWarden(line) {
  if (warden === undefined) {
    const program = fileURLToPath(new URL("warden.mjs", import.meta.url));
    warden = spawn(process.execPath, [program], { stdio: ["pipe", "ignore", "ignore"], detached: true });
    warden.unref();
    const input = /** @type {import("node:net").Socket} */ (warden.stdin);
    input.unref();
    input.on("error", () => {});
  }
  warden.stdin?.write(`${line}\n`);
}

/** When a process began, in the kernel's ticks: with its number, a name that is not used twice. @param {number} pid */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
