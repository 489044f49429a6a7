// The keeper alone, told what a supervisor would tell it: what it does at its instants, at the end of its stdin, and what it lets go of, and when. Its clocks
// are driven by the test (driven-clock.mjs), and it is stopped at the very line that is meant.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, it } from "vitest";
import type { Estate, ToKeeper } from "../../src/supervisor/keeper-messages.ts";
import { identify, type ProcessId } from "../../src/keeper/processes.ts";
import { later } from "../../src/supervisor/schedule.ts";
import { happens, isGone, kill, Stage, until } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
const FAR_MS = 600_000;
/** What must not happen is waited for so long. */
const A_WHILE_MS = 300;
const driven = fileURLToPath(new URL("driven-clock.mjs", import.meta.url));
const stage = new Stage();
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => stage.end());

type Unnumbered<W> = W extends unknown ? Omit<W, "number"> : never;

interface Time {
  readonly atMs: number;
  readonly stepMs?: number;
  readonly slowKill?: boolean;
  readonly stopIn?: string;
  readonly nth?: number;
}

class Keeper {
  readonly process: ChildProcess;
  readonly heard: { readonly word: string; readonly number?: number; readonly ran?: boolean }[] = [];
  hasLetGo = false;
  readonly #clock: string;
  #said = 0;

  constructor(program: string) {
    this.#clock = stage.file(`clock-${started.length}`);
    this.setTime({ atMs: 0 });
    this.process = spawn(process.execPath, ["--import", driven, program, "test"], {
      stdio: ["pipe", "pipe", "inherit", "pipe"],
      env: { ...process.env, DRIVEN_CLOCK: this.#clock },
    });
    started.push(this.process);
    this.process.stdout?.on("data", (text: Buffer) => {
      for (const line of text.toString().trim().split("\n")) this.heard.push(JSON.parse(line) as { word: string });
    });
    (this.process.stdio[3] as Readable).on("close", () => (this.hasLetGo = true)).resume();
  }

  setTime(time: Time): void {
    writeFileSync(`${this.#clock}.new`, JSON.stringify(time));
    renameSync(`${this.#clock}.new`, this.#clock);
  }

  /** Resolves when it has heard it. */
  async tell(word: Unnumbered<ToKeeper>): Promise<void> {
    const number = ++this.#said;
    this.process.stdin?.write(`${JSON.stringify({ ...word, number })}\n`);
    if (word.word !== "farewell") await until(() => this.heard.some((each) => each.number === number), "it has heard");
  }

  /** Its loop has turned so often that it has done whatever was due. */
  async hasLooked(): Promise<void> {
    for (let turn = 0; turn < 8; turn++) await this.tell({ word: "estate" });
  }

  async stopsItself(): Promise<void> {
    await until(() => /\) T /.test(readFileSync(`/proc/${this.process.pid}/stat`, "latin1")), "it stops itself");
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

/** One more of the cell, known by its mark. It may be ended before anybody has seen it. */
function latecomer(): number {
  const child = spawn("sleep", ["1000"], { detached: true, stdio: "ignore", env: { ...process.env, MARK } });
  started.push(child);
  if (child.pid === undefined) throw new Error("it was not started");
  return child.pid;
}

/** A keeper of `child`, which is to be told to stop and killed at these instants. */
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

/** In the environment of each process of the cell, whatever group it is in. */
const MARK = `a-mark-of-${process.pid}`;
const cellOf = (child: ProcessId, cgroup: string | undefined) => ({ child, mark: MARK, cgroup, known: [] });

function instants(termMs: number, killMs: number) {
  const start = { mono: 0, boot: 0 };
  return { termAt: later(start, termMs), killAt: later(start, killMs), deadline: later(start, killMs + 100) };
}

/** As the kernel would show it of one in which somebody does not obey SIGKILL yet. */
function populated(name: string): { readonly cgroup: string; readonly set: (isPopulated: boolean) => void } {
  const cgroup = stage.file(name);
  mkdirSync(cgroup);
  const set = (is: boolean): void => writeFileSync(path.join(cgroup, "cgroup.events"), `populated ${is ? 1 : 0}\n`);
  set(true);
  return { cgroup, set };
}

const own = identify(process.pid) ?? { pid: process.pid, startedAt: "" };
const aDead = { pid: 2 ** 22 + 1, startedAt: "1" };

it("a pipe that ended is no death: while the supervisor lives, the child does", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own);
  keeper.cut();
  expect(await happens(() => isGone(child.pid) || keeper.hasLetGo, A_WHILE_MS)).toBe(false);
});

it("a process that has the supervisor's number by now is not the supervisor", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, { pid: process.pid, startedAt: "1" });
  keeper.cut();
  expect(await happens(() => isGone(child.pid) && keeper.hasLetGo)).toBe(true);
});

it("a supervisor that cannot be looked at, because no descriptor is left, is not taken for dead", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own);
  spawnSync("prlimit", ["--pid", String(keeper.process.pid), "--nofile=0:4096"]);
  keeper.cut();
  expect(await happens(() => isGone(child.pid) || keeper.hasLetGo, A_WHILE_MS)).toBe(false);
});

it("a keeper whose supervisor died before it said anything ends", PATIENT, async () => {
  const keeper = new Keeper(await stage.program("supervisor/keeper"));
  keeper.cut();
  expect(await happens(() => keeper.process.exitCode === 0)).toBe(true);
});

it("a line that nobody understands does not end it: it goes on keeping", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, aDead);
  keeper.process.stdin?.write("nonsense\n");
  keeper.cut();
  expect(await happens(() => isGone(child.pid))).toBe(true);
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
  const { cgroup, set } = populated("cgroup");
  const keeper = await keep(child, aDead, { termMs: FAR_MS, killMs: FAR_MS }, false, cgroup);
  keeper.cut();
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(await happens(() => keeper.hasLetGo, A_WHILE_MS)).toBe(false);
  const late = latecomer(); // after the first round of killing
  expect(await happens(() => isGone(late))).toBe(true);
  expect(keeper.hasLetGo).toBe(false);
  set(false);
  expect(await happens(() => keeper.hasLetGo)).toBe(true);
});

it(
  "the term is given back only after the cell was seen to be empty, and then with the last will",
  PATIENT,
  async () => {
    const child = sh("exec sleep 1000");
    const { cgroup, set } = populated("cgroup of a will");
    const [executed, releaser] = [stage.file("executed"), stage.file("releaser.mjs")];
    writeFileSync(
      releaser,
      `import { writeFileSync, readFileSync, renameSync } from "node:fs";
     writeFileSync("${executed}.new", readFileSync(0)); renameSync("${executed}.new", "${executed}");`,
    );
    const estate: Estate = { url: "x:", session: { id: "1", candidate: "a", ttlMs: 1 }, holds: [] };
    const keeper = new Keeper(await stage.program("supervisor/keeper"));
    await keeper.tell({ word: "hello", supervisor: aDead, hasLife: false, releaser });
    await keeper.tell({ word: "estate", estate: { ...estate, holds: [{ name: "x", bid: "b" }] } });
    await keeper.tell({
      word: "guard",
      cell: cellOf(child, cgroup),
      instants: instants(FAR_MS, FAR_MS),
      isTold: false,
    });
    await keeper.tell({ word: "estate", estate });
    keeper.cut();
    expect(await happens(() => isGone(child.pid))).toBe(true);
    expect(await happens(() => existsSync(executed), A_WHILE_MS)).toBe(false);
    set(false);
    expect(await happens(() => existsSync(executed))).toBe(true);
    expect(JSON.parse(readFileSync(executed, "utf8").split("\n").at(-1) ?? "")).toEqual(estate);
    expect(await happens(() => keeper.process.exitCode === 0)).toBe(true);
  },
);

it(
  "a releaser stands by while the command runs, has no will before it is needed, and is replaced if it is gone",
  PATIENT,
  async () => {
    const child = sh("exec sleep 1000");
    const [started, executed, releaser] = [stage.file("started"), stage.file("by"), stage.file("standing.mjs")];
    writeFileSync(
      releaser,
      `import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
     appendFileSync("${started}", process.pid + " ");
     const said = readFileSync(0, "utf8").split("\\n");
     if (said.at(-1) === "") process.exit(0);
     writeFileSync("${executed}.new", JSON.stringify({ by: process.pid, said })); renameSync("${executed}.new", "${executed}");`,
    );
    const estate: Estate = { url: "x:", session: { id: "1", candidate: "a", ttlMs: 1 }, holds: [] };
    const pids = (): readonly number[] => readFileSync(started, "utf8").trim().split(" ").map(Number);
    const play = async (supervisor: ProcessId): Promise<Keeper> => {
      writeFileSync(started, "");
      const keeper = new Keeper(await stage.program("supervisor/keeper"));
      await keeper.tell({ word: "hello", supervisor, hasLife: false, releaser });
      await keeper.tell({ word: "estate", estate });
      const guard = { cell: cellOf(child, undefined), instants: instants(FAR_MS, FAR_MS), isTold: false };
      await keeper.tell({ word: "guard", ...guard });
      expect(await happens(() => readFileSync(started, "utf8") !== "")).toBe(true);
      return keeper;
    };
    const told = await play(own);
    await told.tell({ word: "farewell" }).catch(() => {});
    expect(await happens(() => isGone(pids()[0] ?? 0))).toBe(true);
    expect(existsSync(executed)).toBe(false);

    (await play(aDead)).cut();
    expect(await happens(() => existsSync(executed))).toBe(true);
    const { by, said } = JSON.parse(readFileSync(executed, "utf8")) as { by: number; said: string[] };
    expect([by]).toEqual(pids());
    expect(said.map((line) => JSON.parse(line) as unknown)).toEqual([{ url: "x:" }, estate]);
    rmSync(executed);

    const keeper = await play(aDead);
    const [first = 0] = pids();
    kill(first, "SIGKILL");
    expect(await happens(() => isGone(first))).toBe(true);
    keeper.cut();
    expect(await happens(() => existsSync(executed))).toBe(true);
    expect(JSON.parse(readFileSync(executed, "utf8"))).toMatchObject({ by: pids()[1], said: [JSON.stringify(estate)] });
  },
);

it("SIGTERM at its instant, SIGKILL at the next; each is said before it is done", PATIENT, async () => {
  const file = stage.file("terms");
  const child = sh(`trap 'echo term >> ${file}' TERM; echo up > ${file}; while :; do sleep 0.01; done`);
  await until(() => existsSync(file), "it runs");
  const keeper = await keep(child, own, { termMs: 300, killMs: 1500 });
  keeper.setTime({ atMs: 299 });
  await keeper.hasLooked();
  expect(readFileSync(file, "utf8")).toBe("up\n");
  keeper.setTime({ atMs: 1499 });
  expect(await happens(() => readFileSync(file, "utf8") === "up\nterm\n")).toBe(true);
  await keeper.hasLooked();
  expect(isGone(child.pid)).toBe(false);
  keeper.setTime({ atMs: 1500 });
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("up\nterm\n");
  expect(keeper.heard.filter(({ word }) => word !== "heard")).toEqual([
    { word: "terminated", child: child.pid, ran: true },
    { word: "killed", child: child.pid, ran: true },
  ]);
});

it(
  "a child that dies of the keeper's SIGTERM at once has run until then: the keeper looked before it sent it",
  PATIENT,
  async () => {
    const child = sh("exec sleep 1000");
    const keeper = await keep(child, own, { termMs: 300, killMs: FAR_MS });
    keeper.setTime({ atMs: 300, slowKill: true });
    expect(await happens(() => isGone(child.pid))).toBe(true);
    const signalled = (): readonly object[] => keeper.heard.filter(({ word }) => word !== "heard");
    await until(() => signalled().length > 0, "it says so");
    expect(signalled()).toEqual([{ word: "terminated", child: child.pid, ran: true }]);
  },
);

it("a child that cannot be looked at when it is killed is taken for one that ran", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: FAR_MS, killMs: FAR_MS });
  keeper.setTime({ atMs: 0 });
  await keeper.tell({ word: "extend", instants: instants(400, 400), isTold: true });
  spawnSync("prlimit", ["--pid", String(keeper.process.pid), "--nofile=0:4096"]);
  // The clock file cannot be read any more, so the time is told by the instants: they have come.
  await keeper.tell({ word: "extend", instants: instants(0, 0), isTold: true });
  expect(await happens(() => isGone(child.pid))).toBe(true);
  await until(() => keeper.heard.some(({ word }) => word !== "heard"), "it says so");
  expect(keeper.heard.filter(({ word }) => word !== "heard")[0]).toEqual({
    word: "killed",
    child: child.pid,
    ran: true,
  });
});

it("a host that slept is noticed soon, although no timer of the keeper has counted the sleep", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own);
  await keeper.hasLooked();
  keeper.setTime({ atMs: FAR_MS }); // nothing is said to it, and its timers have run for some milliseconds only
  expect(await happens(() => isGone(child.pid), 10_000)).toBe(true);
});

it("who comes to life in the cell after its instant is killed, too", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 300, killMs: 300 });
  keeper.setTime({ atMs: 300 });
  expect(await happens(() => isGone(child.pid))).toBe(true);
  await keeper.hasLooked();
  const late = latecomer();
  expect(await happens(() => isGone(late))).toBe(true);
});

it(
  "who was seen below the child is ended after its parent has, and nothing else shows whose it is",
  PATIENT,
  async () => {
    const file = stage.file("escaped");
    const child = sh(`setsid sh -c 'echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 1000' & wait`);
    await until(() => existsSync(file), "it has left the group");
    const escaped = Number(readFileSync(file, "utf8"));
    const keeper = await keep(child, aDead);
    await keeper.hasLooked();
    started.at(-2)?.kill("SIGKILL");
    await until(() => isGone(child.pid), "its parent has ended");
    expect(isGone(escaped)).toBe(false);
    keeper.cut();
    expect(await happens(() => isGone(escaped) && keeper.hasLetGo)).toBe(true);
  },
);

it("a child that was told to stop by its supervisor gets no second SIGTERM", PATIENT, async () => {
  const file = stage.file("told");
  const child = sh(`trap 'echo term >> ${file}' TERM; echo up > ${file}; while :; do sleep 0.01; done`);
  await until(() => existsSync(file), "it runs");
  const keeper = await keep(child, own, { termMs: 300, killMs: 1500 }, true);
  keeper.setTime({ atMs: 1000 });
  await keeper.hasLooked();
  keeper.setTime({ atMs: 1500 });
  expect(await happens(() => isGone(child.pid))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("up\n");
});

it("an extension moves both instants", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 300, killMs: 300 });
  await keeper.tell({ word: "extend", instants: instants(FAR_MS, FAR_MS), isTold: false });
  keeper.setTime({ atMs: 1000 });
  await keeper.hasLooked();
  expect(isGone(child.pid)).toBe(false);
});

it("a cell that the supervisor has seen to be empty is nobody's to end", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, aDead, { termMs: 300, killMs: 300 });
  await keeper.tell({ word: "leave" });
  keeper.setTime({ atMs: 1000 });
  await keeper.hasLooked();
  keeper.cut();
  expect(await happens(() => keeper.process.exitCode === 0)).toBe(true);
  expect(isGone(child.pid)).toBe(false);
});

const EXTENDED: Unnumbered<ToKeeper> = { word: "extend", instants: instants(FAR_MS, FAR_MS), isTold: false };

it("an extension that was said while it was stopped, just before it looked at the clock, counts", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 300, killMs: 300 });
  keeper.setTime({ atMs: 0, stopIn: "look" });
  await keeper.stopsItself();
  const heard = keeper.tell(EXTENDED);
  keeper.setTime({ atMs: 1000 });
  keeper.process.kill("SIGCONT");
  await heard;
  await keeper.hasLooked();
  expect(isGone(child.pid)).toBe(false);
});

it(
  "so does one that was said while it was stopped again, after it had listened and before it acts",
  PATIENT,
  async () => {
    const child = sh("exec sleep 1000");
    const keeper = await keep(child, own, { termMs: 300, killMs: 300 });
    keeper.setTime({ atMs: 1000, stopIn: "Immediate", nth: 2 });
    await keeper.stopsItself();
    const heard = keeper.tell(EXTENDED);
    keeper.setTime({ atMs: 2000 });
    keeper.process.kill("SIGCONT");
    await heard;
    await keeper.hasLooked();
    expect(isGone(child.pid)).toBe(false);
  },
);

it("on a host that is always slow it acts all the same", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, own, { termMs: 300, killMs: 300 });
  keeper.setTime({ atMs: 1000, stepMs: 100 });
  expect(await happens(() => isGone(child.pid), 5000)).toBe(true);
});

it("SIGTERM, SIGINT and SIGHUP are for the supervisor: it goes on keeping", PATIENT, async () => {
  const child = sh("exec sleep 1000");
  const keeper = await keep(child, aDead);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) keeper.process.kill(signal);
  await happens(() => keeper.process.exitCode !== null || keeper.process.signalCode !== null, A_WHILE_MS);
  expect([keeper.process.exitCode, keeper.process.signalCode]).toEqual([null, null]);
  keeper.cut();
  expect(await happens(() => isGone(child.pid) && keeper.hasLetGo)).toBe(true);
});
