// What the kernel says of processes: who is in a group, who carries a mark in its environment, who is gone. Built-ins only: the keeper lives on this.
//
// A process is named by its id AND its start time, because ids are used again. A zombie is gone: it runs nothing any more, and holds no descriptor.
// Linux reads /proc; elsewhere `ps` is asked, which is slower and shows no environment.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

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
  return list()
    .filter((each) => each.group === group && !each.isZombie)
    .map(({ pid }) => pid);
}

/** Those whose environment, as it was when they were started, has `mark` in it. What another user runs cannot be read. Linux only. */
export function livingWithMark(mark: string): readonly number[] {
  return isLinux
    ? pids().filter((pid) => pid !== process.pid && environmentOf(pid).includes(mark) && identify(pid) !== undefined)
    : [];
}

/** The environment of every process that may be read, as `NAME=value` between zero bytes. Linux only. */
export function environments(): readonly { readonly pid: number; readonly environment: string }[] {
  return isLinux
    ? pids()
        .map((pid) => ({ pid, environment: environmentOf(pid).toString("latin1") }))
        .filter(({ pid }) => identify(pid) !== undefined)
    : [];
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

function list(): readonly Listed[] {
  return isLinux ? pids().flatMap((pid) => read(pid) ?? []) : fromPs(["-A"]);
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
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", , group = ""] = fields;
    return { pid, group: Number(group), startedAt: fields[19] ?? "", isZombie: state === "Z" || state === "X" };
  } catch {
    return undefined;
  }
}

function environmentOf(pid: number): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0); // gone, or somebody else's
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
