// A cgroup of its own for a child, where one can be made: version 2, as root or in a delegated tree. Nothing here is needed for a child that stays in its
// process group; it is what makes "no grandchild survives" true for one that does not (G3).
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Makes it and moves `pid` into it, with whatever it will start. Undefined where that cannot be done: the mark must do. */
export function enclose(pid: number, name: string): string | undefined {
  const parent = ownCgroup();
  if (parent === undefined) return undefined;
  const folder = path.join(parent, `conclave-${name}`);
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

/** Succeeds only once it is empty. */
export function discard(cgroup: string): void {
  try {
    rmdirSync(cgroup);
  } catch {
    // Busy for a moment after its last process, or gone. An empty one that is left costs a few kilobytes of the kernel.
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
