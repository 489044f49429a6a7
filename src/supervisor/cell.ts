// A cell: everything that one child may have become, and how to end all of it. Plain data, so that the keeper can be told of it. Built-ins only.
//
//   the process group   the child is its leader; a process that calls setsid leaves it
//   a cgroup            only its owner can leave it: where one can be made (cgroup v2, as root or delegated), it holds everything
//   its kin             where there is no cgroup: processes found by session, by a mark in the environment, by parents (kin.ts)
//
// SIGKILL reaches stopped processes too. Only a process in uninterruptible I/O survives it: then the cell is not empty, and nothing may be released.
// Nothing here throws: killing does as much as can be done, and a process is not taken for gone if that could not be found out.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isPopulated } from "./cgroup.ts";
import { type Family, findKin, follow, isNumberOfStrangers } from "../keeper/kin.ts";
import { isGone, type ProcessId, send } from "../keeper/processes.ts";

/** The id of its child is also the id of its group. */
export interface Cell extends Family {
  /** Absolute path of its own cgroup. */
  readonly cgroup: string | undefined;
}

/** `unsure`: nothing of it is known to live, but there are suspects. */
export type Lives =
  | { readonly is: "empty" | "occupied" }
  | { readonly is: "unsure"; readonly suspects: readonly number[] };

/** Two rounds are usual; there are more if a process forks faster than it is stopped. */
const ROUNDS_MOST = 20;

/** Sends the signal to the group. Processes that left the group get only SIGKILL, later. */
export function terminateCell(cell: Cell, signal: NodeJS.Signals): void {
  if (attempt(() => isNumberOfStrangers(cell)) !== true) send(-cell.child.pid, signal);
}

/** Descendants may leave the group at any time; a process that was seen below the child is not forgotten. This is not needed in a cgroup. */
export function followCell(cell: Cell): void {
  if (cell.cgroup === undefined) attempt(() => follow(cell));
}

/**
 * First every process is stopped, from parent to child, because a stopped process starts no other. Once no new one is found, all are killed. In the other order the
 * children of a killed process would be orphans, and nothing would show any more whose children they are.
 */
export function killCell(cell: Cell): void {
  const { cgroup } = cell;
  // If the cgroup is removed, or Linux is older than 5.14, the other ways remain.
  if (cgroup !== undefined) attempt(() => writeFileSync(path.join(cgroup, "cgroup.kill"), "1"));
  if (cgroup === undefined) stopAll(cell);
  terminateCell(cell, "SIGKILL");
  for (const each of cell.known) sendTo(each, "SIGKILL");
  attempt(() => {
    for (const each of findKin(cell).ours) sendTo(each, "SIGKILL");
  });
}

function stopAll(cell: Cell): void {
  terminateCell(cell, "SIGSTOP");
  attempt(() => {
    const stopped = new Set<number>();
    for (let round = 0; round < ROUNDS_MOST; round++) {
      follow(cell);
      const fresh = cell.known.filter(({ pid }) => !stopped.has(pid));
      if (fresh.length === 0) return;
      for (const each of fresh) sendTo(each, "SIGSTOP");
      for (const { pid } of fresh) stopped.add(pid);
    }
  });
}

/** The number may belong to another process by now. */
function sendTo(one: ProcessId, signal: NodeJS.Signals): void {
  if (attempt(() => isGone(one)) === false) send(one.pid, signal);
}

/** True only if it is certain that nothing of the cell can act any more. */
export function isEmpty(cell: Cell): boolean {
  return livesIn(cell).is === "empty";
}

export function livesIn(cell: Cell): Lives {
  const found = attempt((): Lives => {
    if (isPopulated(cell.cgroup)) return { is: "occupied" };
    const { ours, suspects } = findKin(cell);
    if (ours.length > 0) return { is: "occupied" };
    return suspects.length === 0 || cell.cgroup !== undefined ? { is: "empty" } : { is: "unsure", suspects };
  });
  return found ?? { is: "occupied" };
}

/** Undefined if it failed, because no descriptor or no memory is left. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Whether that process is one of the cell's. False if that could not be found out. */
export function isMember(cell: Cell, pid: number): boolean {
  const { cgroup } = cell;
  const members = attempt(() =>
    cgroup === undefined
      ? findKin(cell).ours.map((each) => each.pid)
      : readFileSync(path.join(cgroup, "cgroup.procs"), "latin1").split("\n").map(Number),
  );
  return members?.includes(pid) === true;
}
