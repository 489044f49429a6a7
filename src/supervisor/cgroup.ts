// A cgroup of its own for a child, where one can be made: version 2, as root or in a delegated tree. A child that stays in its process group does not need one.
// The cgroup ensures that no grandchild survives, even if it leaves the group.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Makes the cgroup and moves `pid` into it, with everything that it will start. Undefined where that cannot be done: then only the mark tells. `kind` is common to the cgroups
 * of one election, `name` is for this one alone. Empty cgroups that are left of earlier children are removed.
 */
export function enclose(pid: number, kind: string, name: string): string | undefined {
  const parent = ownCgroup();
  if (parent === undefined) return undefined;
  const common = `conclave-${kind}-`;
  for (const folder of foldersIn(parent)) if (folder.startsWith(common)) discard(path.join(parent, folder));
  const folder = path.join(parent, `${common}${name}`);
  try {
    mkdirSync(folder);
  } catch {
    return undefined; // this process may not divide its cgroup
  }
  try {
    // Before Linux 5.14 a cgroup cannot be killed as a whole, and killing its processes one by one is a race with those that fork.
    if (!existsSync(path.join(folder, "cgroup.kill"))) throw new Error("no cgroup.kill");
    writeFileSync(path.join(folder, "cgroup.procs"), String(pid));
    return folder;
  } catch {
    discard(folder);
    return undefined;
  }
}

/** Removes it with the cgroups below it, which a `conclave run` inside this one has made. Succeeds only once it is empty. */
export function discard(cgroup: string): void {
  for (const folder of foldersIn(cgroup)) discard(path.join(cgroup, folder));
  try {
    rmdirSync(cgroup);
  } catch {
    // A process lives there, or it is gone already. An empty one that is left costs a few kilobytes of the kernel.
  }
}

/** Whether a process lives in it, or below it. Throws if that could not be found out. */
export function isPopulated(cgroup: string | undefined): boolean {
  if (cgroup === undefined) return false;
  try {
    return /^populated 1$/m.test(readFileSync(path.join(cgroup, "cgroup.events"), "latin1"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return false; // it was removed, which is possible only for an empty one
    throw error;
  }
}

/** A cgroup of that kind in which a process lives, also one that another supervisor made: its name, and the processes in it. */
export interface Enclosure {
  readonly folder: string;
  readonly name: string;
  readonly pids: readonly number[];
}

/** The cgroups beside those that this process makes. */
export function enclosuresOf(kind: string): readonly Enclosure[] {
  const parent = ownCgroup();
  if (parent === undefined) return [];
  const common = `conclave-${kind}-`;
  return foldersIn(parent)
    .filter((folder) => folder.startsWith(common) && isPopulated(path.join(parent, folder)))
    .map((found) => {
      const folder = path.join(parent, found);
      const pids = readFileSync(path.join(folder, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number);
      return { folder, name: found.slice(common.length), pids };
    });
}

/** Sends SIGKILL to every process in it, and below. */
export function killEnclosure({ folder }: Enclosure): void {
  writeFileSync(path.join(folder, "cgroup.kill"), "1");
}

function foldersIn(cgroup: string): readonly string[] {
  try {
    return readdirSync(cgroup, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function ownCgroup(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
    const mount = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .find((line) => / - cgroup2 /.test(line));
    // The fields are ID PARENT MAJOR:MINOR ROOT MOUNTPOINT …; a container sees its own part as the root.
    const [, , , root = "/", mountPoint] = mount?.split(" ") ?? [];
    if (own === undefined || mountPoint === undefined) return undefined;
    const below = root !== "/" && own.startsWith(root) ? own.slice(root.length) : own;
    return path.join(mountPoint, below);
  } catch {
    return undefined;
  }
}
