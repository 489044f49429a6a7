// Which processes belong to a cell, or to an app that has died, where no cgroup tells. A process is OURS if the kernel proves it, and only such a process is ever killed:
//
//   it is in the group or the session of the child: the kernel gives such a number to no other while a process has it
//   it has the cell's mark in its environment, as that was when it was started
//   it is a fork of the app, with the app's program at the app's place in memory: an app that is killed while it starts a process leaves such a fork behind, which has no
//     mark yet, and will have it when it has become the program that was to be started (only where `image` is given)
//   its parent is ours; or its parent was ours when this process looked last (`follow`), and its start time is still the same
//
// A SUSPECT might be ours, but cannot be looked at: it runs as this user, was started after the child, hides its environment (as ssh-agent does), and
// no process between it and those to whom the kernel gives orphans is older than the child. It is not killed, because it may be a stranger's; but the
// term is not given back early while it lives (supervisor.ts, keeper.ts). Root can read everything, and has no suspects.
//
// Neither of these: a process that has left group and session, whose parent had ended before anybody looked, and whose environment is readable and has no mark.
import {
  childrenOf,
  type ListedProcess,
  living,
  lookAt,
  type ProcessId,
  type SeenProcess,
  userOf,
} from "./processes.ts";

/** Whose relatives are looked for. */
export interface Family {
  /** The process from which the others descend. */
  readonly child: ProcessId;
  /** The text in the environment of everything that it starts. */
  readonly mark: string;
  /** Strangers may be in its process group, because a shell that started it puts a whole pipeline into one group. In its session there are only descendants. */
  readonly sharesGroup?: true | undefined;
  /** Where its program lies in memory (`ListedProcess.image`): another process with the same image is a fork of it that has not become another program yet. */
  readonly image?: string | undefined;
  /** Descendants that were seen below it. The list only grows. */
  readonly known: ProcessId[];
}

export interface Kin {
  readonly ours: readonly ProcessId[];
  readonly suspects: readonly number[];
}

/** Remembers the present descendants of the cell, from parent to child: each stays known, whichever process will be its parent later. Throws if it cannot look. */
export function follow(cell: Family): void {
  const known = new Map([cell.child, ...cell.known].map((each) => [each.pid, each]));
  const waiting = [...known.values()].filter(isStill);
  cell.known.splice(0, cell.known.length, ...waiting.filter(({ pid }) => pid !== cell.child.pid));
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const pid of childrenOf(parent.pid)) {
      const found = lookAt(pid);
      // The number may have belonged to another process a moment ago. It counts only if it names this parent, and the parent is still the same process.
      if (known.has(pid) || found === undefined || found.parent !== parent.pid || !isStill(parent)) continue;
      const { startedAt } = found;
      known.set(pid, { pid, startedAt });
      cell.known.push({ pid, startedAt });
      waiting.push({ pid, startedAt });
    }
  }
}

/** Looks at every process of this host. Throws if that cannot be done: then nobody is taken for gone. */
export function findKin(cell: Family): Kin {
  const all = living(cell.mark);
  const ours = new Map(all.filter((each) => isOurs(each, cell)).map((each) => [each.pid, each]));
  for (let count = -1; count !== ours.size;) {
    count = ours.size;
    for (const each of all) if (ours.has(each.parent)) ours.set(each.pid, each);
  }
  const hidden = all.filter(({ pid, mark }) => !ours.has(pid) && mark === "hidden");
  return { ours: [...ours.values()], suspects: suspectsAmong(hidden, all, cell) };
}

function isOurs(each: SeenProcess, cell: Family): boolean {
  if (each.mark === "marked" || cell.known.some((known) => isSame(known, each))) return true;
  if (each.image !== "" && each.image === cell.image && each.pid !== cell.child.pid) return true;
  const isInGroup = each.group === cell.child.pid && cell.sharesGroup !== true;
  return (isInGroup || each.session === cell.child.pid) && !isNumberOfStrangers(cell);
}

/**
 * The kernel gives the number of a group or session to no other while a process is in it. If another process has the leader's id, the group was empty in
 * between, and what has that number now is not ours.
 */
export function isNumberOfStrangers({ child }: Family): boolean {
  const leader = lookAt(child.pid);
  return leader !== undefined && !leader.isZombie && leader.startedAt !== child.startedAt;
}

function suspectsAmong(
  hidden: readonly ListedProcess[],
  all: readonly ListedProcess[],
  { child }: Family,
): readonly number[] {
  const own = process.getuid?.();
  if (own === undefined || own === 0 || hidden.length === 0) return [];
  const byPid = new Map(all.map((each) => [each.pid, each]));
  const heirs = ancestorsOf(process.pid, byPid);
  const isYoung = (each: ListedProcess): boolean => Number(each.startedAt) >= Number(child.startedAt);
  // From the process upwards, until one to which an orphan of ours may have been given.
  const isYoungAllTheWay = (each: ListedProcess | undefined): boolean =>
    each === undefined || heirs.has(each.pid) || (isYoung(each) && isYoungAllTheWay(byPid.get(each.parent)));
  return hidden
    .filter((each) => !heirs.has(each.pid) && isYoungAllTheWay(each) && userOf(each.pid) === own)
    .map(({ pid }) => pid);
}

/** The kernel gives an orphan to process 1, or to an ancestor that has asked for orphans (a subreaper); nobody can tell which one has asked. */
function ancestorsOf(pid: number, byPid: ReadonlyMap<number, ListedProcess>): ReadonlySet<number> {
  const found = new Set([1, pid]);
  for (let each = lookAt(pid); each !== undefined && !found.has(each.parent); each = byPid.get(each.parent))
    found.add(each.parent);
  return found;
}

function isStill(one: ProcessId): boolean {
  const found = lookAt(one.pid);
  return found !== undefined && !found.isZombie && isSame(found, one);
}

function isSame(a: ProcessId, b: ProcessId): boolean {
  return a.pid === b.pid && a.startedAt === b.startedAt;
}
