// Identifies the kernel and the clock of this process: the boot id, and the time namespace in which CLOCK_MONOTONIC is read. Two processes with equal ids
// read the very same clock, and the kernel tells both the same about a process. This exists on Linux only. Elsewhere there is no such evidence, and
// a rival waits for a full ttl of silence (law 2).
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
    return undefined; // a sandbox hides it
  }
}

/** Before Linux 5.6 there is one clock for all processes. */
function timeNamespace(): string | undefined {
  if (existsSync("/proc/self/ns/time")) return readlinkSync("/proc/self/ns/time");
  return existsSync("/proc/self/ns/pid") ? "one" : undefined;
}
