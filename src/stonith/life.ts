// The name of this process among all that ever run, and what can be proved of another one. A life is written as BOOT/PID/START/NONCE/MACHINE/NAMESPACE: the boot of the kernel, which process of it, and where its number counts.
//
// SAFETY: a process of an earlier boot OF THIS MACHINE is gone, with everything that it has started. Another machine has another boot, too: a node whose name was moved to another machine may still act on the first one, and
// nothing is known of it here. A machine without an id of its own, and a copy of a machine that has the same one, cannot be told apart from it (docs/adr/0061-stonith.md).
// The children of a process of this boot may act on when that process is dead. So it counts as gone only if its user has said that it starts none.
// A process that cannot be looked at does not count as gone. So it does not if it belongs to another pid namespace, such as a container that was paused, because its number means another process here; nor if /proc hides it,
// as that of another user is hidden with `hidepid`.
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { machineId } from "../election/machine-id.ts";
import { isProcOurs, isThere } from "../keeper/processes.ts";

const BOOT_FILE = "/proc/sys/kernel/random/boot_id";

/** Where a process runs, as far as the system says. */
export interface ProcessHome {
  readonly machine: string;
  readonly boot: string | undefined;
  /** The pid namespace. */
  readonly namespace: string | undefined;
  /** Where the kernel shows processes. @default "/proc" */
  readonly proc?: string | undefined;
}

/** `machine`: the id that this node has instead of that of its system. */
export function ownHome(machine: string = machineId()): ProcessHome {
  return { machine, boot: textOf(BOOT_FILE), namespace: ownNamespace() };
}

export function ownLife({ machine, boot = "", namespace = "" }: ProcessHome): string {
  const { pid } = process;
  const nonce = randomBytes(6).toString("hex");
  return [boot, pid, startOf(pid) ?? "", nonce, encodeURIComponent(machine), namespace].join("/");
}

/** Whether nothing is left of a process that had this life. `home`: where this process runs. `hasNoChildren`: that process started no others. */
export function isLifeOver(life: string, home: ProcessHome, hasNoChildren: boolean): boolean {
  const [boot = "", pid = "", start = "", , machine = "", namespace = ""] = life.split("/");
  if (boot === "" || home.boot === undefined || machine !== encodeURIComponent(home.machine)) return false;
  if (boot !== home.boot) return true;
  if (!hasNoChildren || namespace === "" || namespace !== home.namespace) return false;
  return pid !== "" && start !== "" && isGone(Number(pid), start, home.proc);
}

function isGone(pid: number, start: string, proc: string | undefined): boolean {
  const found = startOf(pid, proc);
  return found === undefined ? !isThere(pid) : found !== start;
}

/** When a process was started, in ticks since the boot. Undefined: there is no such process, or it cannot be looked at. */
function startOf(pid: number, proc = "/proc"): string | undefined {
  const text = textOf(`${proc}/${pid}/stat`);
  // The name of the program stands in brackets, and may hold anything.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19];
}

/** Undefined where the system has none, or where /proc shows the numbers of another namespace. */
function ownNamespace(): string | undefined {
  try {
    return isProcOurs() ? /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] : undefined;
  } catch {
    return undefined;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
