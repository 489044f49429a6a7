// The name of this process among all that ever run on this machine, and what can be proved of another one. A life is written as BOOT/PID/START/NONCE: the boot of the kernel, and which process of it.
//
// SAFETY: a process of an earlier boot is gone, with everything that it has started. The children of a process of this boot may act on when that
// process is dead. So it counts as gone only if its user has said
// that it starts none. A process that cannot be looked at does not count as gone.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

const BOOT_FILE = "/proc/sys/kernel/random/boot_id";

/** Undefined where the system does not say. */
export function bootId(): string | undefined {
  return textOf(BOOT_FILE);
}

export function ownLife(): string {
  const pid = process.pid;
  return [bootId() ?? "", pid, startOf(pid) ?? "", randomBytes(6).toString("hex")].join("/");
}

/** Whether nothing is left of a process of this machine. `hasNoChildren`: it starts no other processes. */
export function isLifeOver(life: string, hasNoChildren: boolean, boot: string | undefined = bootId()): boolean {
  const [ofLife = "", pid = "", start = ""] = life.split("/");
  if (ofLife === "" || boot === undefined || pid === "" || start === "") return false;
  if (ofLife !== boot) return true;
  return hasNoChildren && startOf(Number(pid)) !== start;
}

/** When a process was started, in ticks since the boot. Undefined: there is no such process, or it cannot be looked at. */
function startOf(pid: number): string | undefined {
  const text = textOf(`/proc/${pid}/stat`);
  // The name of the program stands in brackets, and may hold anything.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19];
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
