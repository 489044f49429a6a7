// A cell: everything that one child may have become, and how to end all of it. Plain data, so that the keeper can be told of it. Built-ins only.
//
//   the process group   the child is its leader; who calls setsid leaves it
//   a cgroup            nobody leaves it without being its owner: where one can be made (cgroup v2, root or delegated), that catches all
//   a mark              in the environment of the child, inherited by whatever it starts; catches who has left the group. Not who cleans its environment, nor
//                       a program of another user
//
// G2: SIGKILL reaches stopped processes too. Only one in uninterruptible I/O survives it: `isEmpty` goes on denying, and nothing may be released.
// Nothing here throws: whoever kills does as much as can be done, and what could not be found out is not taken for gone.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { isPopulated } from "./cgroup.ts";
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
  if (!isGroupOfStrangers(cell)) send(-cell.child.pid, signal);
}

export function killCell(cell: Cell): void {
  const { cgroup } = cell;
  // Removed, or before Linux 5.14: group and mark remain.
  if (cgroup !== undefined) attempt(() => writeFileSync(path.join(cgroup, "cgroup.kill"), "1"));
  terminateCell(cell, "SIGKILL");
  attempt(() => {
    for (const pid of livingWithMark(cell.mark)) send(pid, "SIGKILL");
  });
}

/** True only if it is certain that nothing of the cell can act any more. */
export function isEmpty(cell: Cell): boolean {
  return attempt(() => !isPopulated(cell.cgroup) && !hasGroup(cell) && livingWithMark(cell.mark).length === 0) === true;
}

function hasGroup(cell: Cell): boolean {
  return !isGroupOfStrangers(cell) && livingInGroup(cell.child.pid).length > 0;
}

/**
 * The number of a group is not given to another while anybody is in it. If its leader's id is in use by another process, the group was empty in between,
 * and what has that number now is none of ours.
 */
function isGroupOfStrangers({ child }: Cell): boolean {
  const leader = attempt(() => identify(child.pid));
  return leader !== undefined && leader.startedAt !== child.startedAt;
}

/** Undefined if it failed: no descriptor is left, or no memory. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
