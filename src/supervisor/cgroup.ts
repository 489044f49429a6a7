// A cgroup of its own for a child, where one can be made: version 2, as root or in a delegated tree. Nothing here is needed for a child that stays in its
// process group; it is what makes "no grandchild survives" true for one that does not.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Makes it and moves `pid` into it, with whatever it will start. Undefined where that cannot be done: the mark must do. `kind` is common to those of one
 * election, `name` is its own: what is left of earlier ones, empty, is removed.
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
    return undefined; // not ours to divide
  }
  try {
    // Before Linux 5.14 it cannot be killed as a whole, and killing one by one is a race with whatever forks.
    if (!existsSync(path.join(folder, "cgroup.kill"))) throw new Error("no cgroup.kill");
    writeFileSync(path.join(folder, "cgroup.procs"), String(pid));
    return folder;
  } catch {
    discard(folder);
    return undefined;
  }
}

/** With those below it, which a `conclave run` inside this one has made. Succeeds only once it is empty. */
export function discard(cgroup: string): void {
  for (const folder of foldersIn(cgroup)) discard(path.join(cgroup, folder));
  try {
    rmdirSync(cgroup);
  } catch {
    // Somebody lives there, or it is gone. An empty one that is left costs a few kilobytes of the kernel.
  }
}

/** Somebody lives in it, or below. Throws if that could not be found out. */
export function isPopulated(cgroup: string | undefined): boolean {
  if (cgroup === undefined) return false;
  try {
    return /^populated 1$/m.test(readFileSync(path.join(cgroup, "cgroup.events"), "latin1"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return false; // removed, which only an empty one can be
    throw error;
  }
}

/** A cgroup of that kind in which somebody lives, be it of another process: what it was named, and who is in it. */
export interface Enclosure {
  readonly folder: string;
  readonly name: string;
  readonly pids: readonly number[];
}

/** Those beside the ones that this process makes. */
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

/** SIGKILL to everybody in it, and below. */
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
    // ID PARENT MAJOR:MINOR ROOT MOUNTPOINT …; a container sees its own part as the root.
    const [, , , root = "/", mountPoint] = mount?.split(" ") ?? [];
    if (own === undefined || mountPoint === undefined) return undefined;
    const below = root !== "/" && own.startsWith(root) ? own.slice(root.length) : own;
    return path.join(mountPoint, below);
  } catch {
    return undefined;
  }
}
