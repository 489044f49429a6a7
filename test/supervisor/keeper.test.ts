// The keeper alone, told what a supervisor would tell it: what it does at its instants, at the end of its stdin, and what it lets go of, and when.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { afterAll, afterEach, expect, it } from "vitest";
import { nodeClock } from "../../src/election/clock.ts";
import type { ToKeeper } from "../../src/supervisor/keeper-words.ts";
import { identify, type ProcessId } from "../../src/supervisor/processes.ts";
import { later } from "../../src/supervisor/schedule.ts";
import { happens, isGone, sleep, Stage, until } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
const FAR_MS = 600_000;
const stage = new Stage();
const clock = nodeClock();
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => stage.end());

type Unnumbered<W> = W extends unknown ? Omit<W, "number"> : never;

class Keeper {
  readonly process: ChildProcess;
  readonly heard: { readonly word: string; readonly number?: number; readonly ran?: boolean }[] = [];
  hasLetGo = false;
  #said = 0;

  constructor(program: string) {
    this.process = spawn(process.execPath, [program, "test"], { stdio: ["pipe", "pipe", "inherit", "pipe"] });
    started.push(this.process);
    this.process.stdout?.on("data", (text: Buffer) => {
      for (const line of text.toString().trim().split("\n")) this.heard.push(JSON.parse(line) as { word: string });
    });
    (this.process.stdio[3] as Readable).on("close", () => (this.hasLetGo = true)).resume();
  }

  /** Resolves when it has heard it. */
  async tell(word: Unnumbered<ToKeeper>): Promise<void> {
    const number = ++this.#said;
    this.process.stdin?.write(`${JSON.stringify({ ...word, number })}\n`);
    if (word.word !== "farewell") await until(() => this.heard.some((each) => each.number === number), "it has heard");
  }

  cut(): void {
    this.process.stdin?.end();
  }
}

function sh(script: string): ProcessId {
  const child = spawn("sh", ["-c", script], { detached: true, stdio: "ignore" });
  started.push(child);
  const id = identify(child.pid ?? -1);
  if (id === undefined) throw new Error("it was not started");
  return id;
}

/** A keeper of `child`, which is to be told to stop and killed in so many milliseconds. */
async function keep(
  child: ProcessId,
  supervisor: ProcessId,
  at = { termMs: FAR_MS, killMs: FAR_MS },
  isTold = false,
  cgroup?: string,
): Promise<Keeper> {
  const keeper = new Keeper(await stage.program("supervisor/keeper"));
  await keeper.tell({ word: "hello", supervisor, hasLife: true, releaser: "none" });
  await keeper.tell({ word: "guard", cell: cellOf(child, cgroup), instants: instants(at.termMs, at.killMs), isTold });
  return keeper;
}

const cellOf = (child: ProcessId, cgroup: string | undefined) => ({
  child,
  mark: "a mark that nobody carries",
  cgroup,
  known: [],
});

function instants(termMs: number, killMs: number) {
  const now = clock.now();
  return { termAt: later(now, termMs), killAt: later(now, killMs), deadline: later(now, killMs + 100) };
}

const own = identify(process.pid) ?? { pid: process.pid, startedAt: "" };
const aDead = { pid: 2 ** 22 + 1, startedAt: "1" };

it("a pipe that ended is no death: while the supervisor lives, the child does", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own);
  keeper.cut();
  expect(await happens(() => isGone(child.pid) || keeper.hasLetGo, 500)).toBe(false);
});

it("a process that has the supervisor's number by now is not the supervisor", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, { pid: process.pid, startedAt: "1" });
  keeper.cut();
  expect(await happens(() => isGone(child.pid) && keeper.hasLetGo)).toBe(true);
});

it("farewell: it ends, and does nothing", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, aDead);
  await keeper.tell({ word: "farewell" });
  expect(await happens(() => keeper.process.exitCode === 0)).toBe(true);
  expect(isGone(child.pid)).toBe(false);
});

it("what waiters watch is let go only after the cell was seen to be empty", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  // As the kernel would show it of one that does not obey SIGKILL yet.
  const cgroup = stage.file("cgroup");
  mkdirSync(cgroup);
  writeFileSync(path.join(cgroup, "cgroup.events"), "populated 1\n");
  const keeper = await keep(child, aDead, { termMs: FAR_MS, killMs: FAR_MS }, false, cgroup);
  keeper.cut();
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(await happens(() => keeper.hasLetGo, 500)).toBe(false);
  writeFileSync(path.join(cgroup, "cgroup.events"), "populated 0\n");
  expect(await happens(() => keeper.hasLetGo)).toBe(true);
});

it("SIGTERM at its instant, SIGKILL at the next; each is said", PATIENT, async () => {
  const file = stage.file("terms");
  const child = sh(`trap 'echo term >> ${file}' TERM; echo up > ${file}; while :; do sleep 0.01; done`);
  await until(() => existsSync(file), "it runs");
  const keeper = await keep(child, own, { termMs: 300, killMs: 1500 });
  expect(await happens(() => readFileSync(file, "utf8") === "up\nterm\n")).toBe(true);
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(keeper.heard.filter(({ word }) => word !== "heard")).toEqual([
    { word: "terminated", child: child.pid, ran: true },
    { word: "killed", child: child.pid, ran: true },
  ]);
});

it("a child that was told to stop by its supervisor gets no second SIGTERM", PATIENT, async () => {
  const file = stage.file("told");
  const child = sh(`trap 'echo term >> ${file}' TERM; echo up > ${file}; while :; do sleep 0.01; done`);
  await until(() => existsSync(file), "it runs");
  await keep(child, own, { termMs: 0, killMs: 1000 }, true);
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("up\n");
});

it("an extension moves both instants", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 1500, killMs: 1500 });
  await keeper.tell({ word: "extend", instants: instants(FAR_MS, FAR_MS), isTold: false });
  expect(await happens(() => isGone(child.pid), 2000)).toBe(false);
});

it("an extension that was said while it was stopped counts, although the instant has passed", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 1500, killMs: 1500 });
  keeper.process.kill("SIGSTOP");
  const later = keeper.tell({ word: "extend", instants: instants(FAR_MS, FAR_MS), isTold: false });
  await sleep(1800);
  keeper.process.kill("SIGCONT");
  await later;
  expect(await happens(() => isGone(child.pid), 300)).toBe(false);
});

it("SIGTERM, SIGINT and SIGHUP are for the supervisor: it goes on keeping", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, aDead);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) keeper.process.kill(signal);
  expect(await happens(() => keeper.process.exitCode !== null || keeper.process.signalCode !== null, 300)).toBe(false);
  keeper.cut();
  expect(await happens(() => isGone(child.pid) && keeper.hasLetGo)).toBe(true);
});
