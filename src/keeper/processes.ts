// What the kernel says of processes: which are in a group, which carry a mark in their environment, which are gone. Uses built-ins only, because the keeper needs it.
//
// A process is named by its id AND its start time, because the kernel uses ids again. A zombie is gone: it runs nothing any more, and holds no descriptor. But if
// only the first thread of a process has ended, the kernel calls it a zombie too, while its other threads go on; it is not gone.
// On Linux this reads /proc; elsewhere it asks `ps`, which is slower and shows no environment.
//
// If something cannot be read, because this process or the system has no descriptor left, everything here throws, and no process is taken for gone.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessId {
  readonly pid: number;
  /** As the system writes it; it can only be compared for equality. */
  readonly startedAt: string;
}

export interface ListedProcess extends ProcessId {
  readonly parent: number;
  readonly group: number;
  /** 0 where the system does not say. */
  readonly session: number;
  readonly isZombie: boolean;
  /** Where its program lies in memory. The kernel draws this anew for each program that is started (ASLR), and a fork inherits it. Empty if the system does not show it. */
  readonly image: string;
}

/** Whether its environment, as it was at its start, has the mark in it. `hidden`: this process may not read it. Linux only; elsewhere nothing is marked. */
export interface SeenProcess extends ListedProcess {
  readonly mark: "marked" | "unmarked" | "hidden";
}

const isLinux = process.platform === "linux";

/** How often a process is asked that is between two programs. It takes a few look-ups; a process that is stuck there has no program, and acts for nobody. */
const TRIES_MOST = 1000;

/** Undefined if there is no such process, or only its zombie. */
export function identify(pid: number): ProcessId | undefined {
  const found = read(pid);
  return found === undefined || found.isZombie ? undefined : { pid, startedAt: found.startedAt };
}

/** True if the process is gone for certain: there is no such process, or its zombie, or another one with that id. */
export function isGone({ pid, startedAt }: ProcessId): boolean {
  return identify(pid)?.startedAt !== startedAt;
}

/** As the kernel shows it now; undefined if there is no such process. */
export function lookAt(pid: number): ListedProcess | undefined {
  return read(pid);
}

/**
 * All processes that run, stopped ones among them, without this one. A process that forks and ends meanwhile does not hide its child (`survey`): its environment is
 * read before it is seen to live, so a process that was seen and counts as unmarked had no marked child before that.
 */
export function living(mark: string): readonly SeenProcess[] {
  if (!isLinux)
    return fromPs(["-A"])
      .filter(({ pid, isZombie }) => pid !== process.pid && !isZombie)
      .map((each) => ({ ...each, mark: "unmarked" }));
  return survey((pid) => {
    if (pid === process.pid) return undefined;
    const [environment, found] = lookAtOneProgram(pid);
    if (found === undefined || found.isZombie) return undefined;
    if (environment === "hidden") return { ...found, mark: "hidden" };
    return { ...found, mark: environment.includes(mark) ? "marked" : "unmarked" };
  });
}

/** The environment and the place in memory of one program. A process that has become another program between the two looks is looked at again. */
function lookAtOneProgram(pid: number): readonly [Buffer | "hidden", ListedProcess | undefined] {
  for (let tries = 0; ; tries++) {
    const before = fromProc(pid);
    const environment = environmentOf(pid);
    const found = fromProc(pid);
    if (before?.image === found?.image || found === undefined || tries === TRIES_MOST) return [environment, found];
  }
}

/** Its children, as far as the kernel lists them (Linux, CONFIG_PROC_CHILDREN). This is cheap: no other process is looked at. */
export function childrenOf(pid: number): readonly number[] {
  if (!isLinux) return [];
  const threads = ofProcess(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.flatMap((thread) =>
    (ofProcess(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1")) ?? "")
      .split(" ")
      .filter((word) => word !== "")
      .map(Number),
  );
}

/** The user that a process runs as; undefined if it is gone. */
export function userOf(pid: number): number | undefined {
  const status = ofProcess(() => readFileSync(`/proc/${pid}/status`, "latin1"));
  const uid = /^Uid:\s+(\d+)/m.exec(status ?? "")?.[1];
  return uid === undefined ? undefined : Number(uid);
}

/** The processes for whose environment `isMeant` is true; it is given as `NAME=value` between zero bytes. The processes of another user cannot be read. Linux only. */
export function livingWithEnvironment(isMeant: (environment: string) => boolean): readonly number[] {
  if (!isLinux) return [];
  return survey((pid) => {
    const environment = environmentOf(pid);
    const isOne = environment !== "hidden" && isMeant(environment.toString("latin1"));
    return isOne && identify(pid) !== undefined ? pid : undefined;
  });
}

/** Whether /proc shows this process under its own number. In a pid namespace with the /proc of another one, the numbers there belong to strangers. */
export function isProcOurs(): boolean {
  return !isLinux || readlinkSync("/proc/self") === String(process.pid);
}

/** Whether the kernel knows a process with this number, be it a zombie. It answers this also for processes that /proc hides. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Sends a signal; a process that is gone already needs none. A negative id is a group. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/**
 * What `meant` makes of each process. A process that forks and ends between the listing and the look would hide its child. So every process that has appeared meanwhile is
 * looked at too, until none has appeared. Then every process that is meant and lives was in the last listing, or descends from one that was, and that one was seen.
 */
function survey<T>(meant: (pid: number) => T | undefined): readonly T[] {
  const seen = new Set<number>();
  const found: T[] = [];
  for (;;) {
    const appeared = pids().filter((pid) => !seen.has(pid));
    if (appeared.length === 0) return found;
    for (const pid of appeared) {
      seen.add(pid);
      const one = meant(pid);
      if (one !== undefined) found.push(one);
    }
  }
}

function read(pid: number): ListedProcess | undefined {
  return isLinux ? fromProc(pid) : fromPs(["-p", String(pid)])[0];
}

function pids(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Fields of /proc/PID/stat after the name, which may hold anything: state is the third, then parent, group and session; the start time is the 22nd. */
function fromProc(pid: number): ListedProcess | undefined {
  const stat = ofProcess(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", group = "", session = ""] = fields;
  const isZombie = state === "X" || (state === "Z" && !hasOtherThreads(pid));
  const [startedAt = ""] = fields.slice(19);
  // The 26th, 28th and 47th field: startcode, startstack, start_brk. They are zero or one for a reader without the right.
  const places = [fields[23], fields[25], fields[44]];
  const image = places.every((place) => Number(place) > 1) ? places.join(" ") : "";
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), startedAt, isZombie, image };
}

/** A thread that ends leaves nothing behind. Only the first thread waits for the others, as a zombie. */
function hasOtherThreads(pid: number): boolean {
  return (ofProcess(() => readdirSync(`/proc/${pid}/task`)) ?? []).length > 1;
}

/** Between two programs (execve) a process shows no environment for a while, however long. So an empty one is believed only if it is seen twice, and not between two programs. */
function environmentOf(pid: number): Buffer | "hidden" {
  let isSettled = false;
  for (let tries = 0; ; tries++) {
    const environment = ofProcess(() => readFileSync(`/proc/${pid}/environ`), "hidden");
    if (environment === "hidden") return "hidden";
    if (environment === undefined) return Buffer.alloc(0);
    if (environment.length > 0 || isSettled || tries === TRIES_MOST) return environment;
    isSettled = !isBetweenPrograms(pid);
  }
}

/** True if it has memory, which the kernel's own threads and zombies do not have, and no argument yet, not even an empty one. */
function isBetweenPrograms(pid: number): boolean {
  return (
    ofProcess(() => readFileSync(`/proc/${pid}/cmdline`))?.length === 0 &&
    ofProcess(() => readlinkSync(`/proc/${pid}/exe`)) !== undefined
  );
}

/** Undefined if the process is gone; `otherwise` if this may not be read. */
function ofProcess<T, O = undefined>(read: () => T, otherwise?: O): T | O | undefined {
  try {
    return read();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return otherwise;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

function fromPs(which: readonly string[]): readonly ListedProcess[] {
  const { spawnSync } = process.getBuiltinModule("node:child_process"); // loaded at first use: most hosts have /proc
  const { stdout } = spawnSync("ps", ["-o", "pid=,ppid=,pgid=,stat=,lstart=", ...which], { encoding: "utf8" });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line);
    if (match === null) return [];
    const [, pid = "", parent = "", group = "", state = "", startedAt = ""] = match;
    const isZombie = state.startsWith("Z");
    return [
      { pid: Number(pid), parent: Number(parent), group: Number(group), session: 0, startedAt, isZombie, image: "" },
    ];
  });
}
