// Which kernel and which clock this process has: the boot id, and the time namespace that CLOCK_MONOTONIC is read in. Two processes with equal ids
// read the very same clock, and what the kernel says of a process to one it says to the other. Linux only; elsewhere there is no such evidence, and
// silence judges (law 2).
//
// Different ids prove nothing, least of all a death: the file may be shared by two virtual machines, or the host may have been restarted.
import { existsSync, readFileSync, readlinkSync } from "node:fs";

export interface HostKernel {
  readonly boot: string;
  readonly clock: string;
}

export function readKernel(platform: string = process.platform): HostKernel | undefined {
  if (platform !== "linux") return undefined;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const clock = timeNamespace();
    return boot === "" || clock === undefined ? undefined : { boot, clock };
  } catch {
    return undefined; // a sandbox that hides it
  }
}

/** Before Linux 5.6 there is one clock for all. */
function timeNamespace(): string | undefined {
  if (existsSync("/proc/self/ns/time")) return readlinkSync("/proc/self/ns/time");
  return existsSync("/proc/self/ns/pid") ? "one" : undefined;
}
