// What the kernel says of processes: who is in a group, who carries a mark in its environment, who is gone. Built-ins only: the keeper lives on this.
//
// A process is named by its id AND its start time, because ids are used again. A zombie is gone: it runs nothing any more, and holds no descriptor. Not so
// one whose first thread alone has ended: the kernel calls it a zombie too, while its other threads go on.
// Linux reads /proc; elsewhere `ps` is asked, which is slower and shows no environment.
//
// What could not be read is no answer: where this process has no descriptor left, or the system none, everything here throws, and nobody is taken for gone.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessId {
  readonly pid: number;
  /** As the system writes it; only equality means anything. */
  readonly startedAt: string;
}

interface Listed extends ProcessId {
  readonly group: number;
  readonly isZombie: boolean;
}

const isLinux = process.platform === "linux";

/** How often a process is asked that is between two programs. A few look-ups; one that is stuck there has no program, and acts for nobody. */
const TRIES_MOST = 1000;

/** Undefined if there is no such process, or only its zombie. */
export function identify(pid: number): ProcessId | undefined {
  const found = read(pid);
  return found === undefined || found.isZombie ? undefined : { pid, startedAt: found.startedAt };
}

/** Gone for certain: no such process, its zombie, or another one with that id. */
export function isGone({ pid, startedAt }: ProcessId): boolean {
  return identify(pid)?.startedAt !== startedAt;
}

/** Those of a process group that still run, stopped ones among them. */
export function livingInGroup(group: number): readonly number[] {
  if (isLinux) return survey((pid) => isLivingIn(group, fromProc(pid)));
  return fromPs(["-A"])
    .filter((each) => isLivingIn(group, each))
    .map(({ pid }) => pid);
}

function isLivingIn(group: number, found: Listed | undefined): boolean {
  return found?.group === group && !found.isZombie;
}

/** Those whose environment, as it was when they were started, has `mark` in it. What another user runs cannot be read. Linux only. */
export function livingWithMark(mark: string): readonly number[] {
  return isLinux
    ? survey((pid) => pid !== process.pid && environmentOf(pid).includes(mark) && identify(pid) !== undefined)
    : [];
}

/** Those whose environment, as `NAME=value` between zero bytes, is of the kind. What another user runs cannot be read. Linux only. */
export function livingWithEnvironment(isMeant: (environment: string) => boolean): readonly number[] {
  return isLinux ? survey((pid) => isMeant(environmentOf(pid).toString("latin1")) && identify(pid) !== undefined) : [];
}

/** Whether /proc shows this process under the number that it has for itself. In a pid namespace with the /proc of another one, numbers mean strangers. */
export function isProcOurs(): boolean {
  return !isLinux || readlinkSync("/proc/self") === String(process.pid);
}

/** Sends a signal; what is gone already needs none. A negative id is a group. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/**
 * All processes that are meant. One that forks and ends after the listing and before the look would hide its child; so whoever has appeared meanwhile is
 * looked at too, until nobody has. Then whoever is meant and lives was at the last listing, or descends from one that was: and that one was seen.
 */
function survey(isMeant: (pid: number) => boolean): readonly number[] {
  const seen = new Set<number>();
  const found: number[] = [];
  for (;;) {
    const appeared = pids().filter((pid) => !seen.has(pid));
    if (appeared.length === 0) return found;
    for (const pid of appeared) {
      seen.add(pid);
      if (isMeant(pid)) found.push(pid);
    }
  }
}

function read(pid: number): Listed | undefined {
  return isLinux ? fromProc(pid) : fromPs(["-p", String(pid)])[0];
}

function pids(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Fields of /proc/PID/stat after the name, which may hold anything: state is the third, the group the fifth, the start time the 22nd. */
function fromProc(pid: number): Listed | undefined {
  const stat = ofProcess(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", , group = ""] = fields;
  const isZombie = state === "X" || (state === "Z" && !hasOtherThreads(pid));
  return { pid, group: Number(group), startedAt: fields[19] ?? "", isZombie };
}

/** Threads that end leave nothing behind; only the first waits for the others, as a zombie. */
function hasOtherThreads(pid: number): boolean {
  return (ofProcess(() => readdirSync(`/proc/${pid}/task`)) ?? []).length > 1;
}

/** Between two programs (execve) a process shows none for a moment, of whatever length: so nothing is believed only when it is seen twice, and outside of that. */
function environmentOf(pid: number): Buffer {
  let isSettled = false;
  for (let tries = 0; ; tries++) {
    const environment = ofProcess(() => readFileSync(`/proc/${pid}/environ`));
    if (environment === undefined) return Buffer.alloc(0);
    if (environment.length > 0 || isSettled || tries === TRIES_MOST) return environment;
    isSettled = !isBetweenPrograms(pid);
  }
}

/** Has memory, which the kernel's own threads and zombies have not, and no argument yet, not even an empty one. */
function isBetweenPrograms(pid: number): boolean {
  return (
    ofProcess(() => readFileSync(`/proc/${pid}/cmdline`))?.length === 0 &&
    ofProcess(() => readlinkSync(`/proc/${pid}/exe`)) !== undefined
  );
}

/** Undefined if the process is gone, or somebody else's. */
function ofProcess<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
}

function fromPs(which: readonly string[]): readonly Listed[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=,pgid=,stat=,lstart=", ...which], { encoding: "utf8" });
  return (stdout ?? "").split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line);
    if (match === null) return [];
    const [, pid = "", group = "", state = "", startedAt = ""] = match;
    return [{ pid: Number(pid), group: Number(group), startedAt, isZombie: state.startsWith("Z") }];
  });
}
