// A cell: everything that one child may have become, and how to end all of it. Plain data, so that the keeper can be told of it. Built-ins only.
//
//   the process group   the child is its leader; who calls setsid leaves it
//   a cgroup            nobody leaves it without being its owner: where one can be made (cgroup v2, root or delegated), that catches all
//   a mark              in the environment of the child, inherited by whatever it starts; catches who has left the group. Not who cleans its environment, nor
//                       a program of another user
//
// G2: SIGKILL reaches stopped processes too. Only one in uninterruptible I/O survives it: `livingIn` goes on naming it, and nothing may be released.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { identify, livingInGroup, livingWithMark, type ProcessId, send } from "./processes.ts";

export interface Cell {
  /** The child, which is also the id of its group. */
  readonly child: ProcessId;
  readonly mark: string;
  /** Absolute path of its own cgroup. */
  readonly cgroup: string | undefined;
}

/** To the group; those who left it are told only by SIGKILL. */
export function terminateCell(cell: Cell, signal: NodeJS.Signals): void {
  if (isGroupOurs(cell)) send(-cell.child.pid, signal);
}

export function killCell(cell: Cell): void {
  if (cell.cgroup !== undefined) write(path.join(cell.cgroup, "cgroup.kill"), "1");
  if (isGroupOurs(cell)) send(-cell.child.pid, "SIGKILL");
  for (const pid of livingWithMark(cell.mark)) send(pid, "SIGKILL");
}

/** Empty exactly if nothing of the cell can act any more. */
export function livingIn(cell: Cell): readonly number[] {
  const group = isGroupOurs(cell) ? livingInGroup(cell.child.pid) : [];
  return [...new Set([...group, ...livingInCgroup(cell.cgroup), ...livingWithMark(cell.mark)])];
}

/**
 * The number of a group is not given to another while anybody is in it. If its leader's id is in use by another process, the group was empty in between,
 * and what has that number now is none of ours.
 */
function isGroupOurs({ child }: Cell): boolean {
  const leader = identify(child.pid);
  return leader === undefined || leader.startedAt === child.startedAt;
}

function livingInCgroup(cgroup: string | undefined): readonly number[] {
  if (cgroup === undefined || !existsSync(cgroup)) return [];
  try {
    return readFileSync(path.join(cgroup, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch {
    // Removed, or before Linux 5.14: group and mark remain.
  }
}
