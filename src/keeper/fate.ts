// Whether an app is dead, and whether anything that it started lives on. Each question has three answers: what could not be found out is neither yes nor no.
//
// SAFETY  `dead` is said only of a process that can do nothing any more: the kernel has no process with that id, or has one that was started at another
//         time, or has its zombie, all of whose threads have ended. Such a process never runs again, whatever signal it is sent. A process that is
//         stopped (SIGSTOP, a debugger, a frozen cgroup) is in the list with its start time and is alive; when it goes on, nothing was given back.
import { type Family, findKin } from "./kin.ts";
import { isThere, lookAt, type ProcessId } from "./processes.ts";

export type Fate = "alive" | "dead" | "unknown";

export function fateOf(app: ProcessId): Fate {
  try {
    const found = lookAt(app.pid);
    if (found !== undefined) return found.isZombie || found.startedAt !== app.startedAt ? "dead" : "alive";
    // A /proc that hides processes (hidepid) does not show a process that exists. So the kernel is asked in another way, too.
    return isThere(app.pid) ? "unknown" : "dead";
  } catch {
    return "unknown"; // this process has no descriptor or no memory left
  }
}

/** Why nothing may be given back yet, in words for people; undefined if nothing that the app started lives. `peers` are other keepers, which act for nobody. */
export function whatRemains(family: Family, peers: ReadonlySet<number>): string | undefined {
  try {
    // Process 1 is always there. A /proc that does not show it (hidepid) may not show a child either.
    if (lookAt(1) === undefined) return "this /proc hides processes, and a child may be among them";
    const { ours, suspects } = findKin(family);
    const living = ours.map(({ pid }) => pid).filter((pid) => !peers.has(pid));
    if (living.length > 0) return `process ${living.join(", ")}, which it started, still runs`;
    return suspects.length === 0
      ? undefined
      : `process ${suspects.join(", ")} may be its child and cannot be looked at`;
  } catch (error) {
    return `it cannot be seen whether it has left children (${error instanceof Error ? error.message : String(error)})`;
  }
}
