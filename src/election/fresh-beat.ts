// Draws a beat (lease/beats.ts): a number that no other copy of this process draws. A copy has the memory of its original, and with it the state of every random generator
// inside the process, including that of OpenSSL. So each beat is a digest of values that a copy does not share:
//   - bytes of the kernel. Linux draws new ones after a machine was cloned, from 5.18 on and where the hypervisor reports it (VM generation id). A copy of one process on
//     the same kernel gets other bytes in any case;
//   - both clocks at this moment, as finely as they are read: two copies run independently.
// We assume that one of these differs. If none did, the second copy would still be refused as long as its keeps are answered (lease/beat-rule.ts).
import { closeSync, openSync, readSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { stampKeep } from "../lease/beats.ts";
import type { Machine, Request } from "../lease/state.ts";

const KERNEL = "/dev/urandom";
const BYTES = 16;

/** A request of the machine as it is to be sent now. */
export function stamped(machine: Machine, errand: number, request: Request, clock: Clock): Request {
  const isDrawn = request.method === "keep" && machine.settings.guarantee.refusesClones === true;
  return isDrawn ? stampKeep(machine, errand, request, freshBeat(clock)) : request;
}

export function freshBeat(clock: Clock): string {
  const { createHash, randomBytes } = process.getBuiltinModule("node:crypto"); // loaded at first use, because it takes 3 ms
  const { mono, boot } = clock.now();
  const digest = createHash("sha256")
    .update(fromKernel() ?? "")
    .update(randomBytes(BYTES))
    .update(`${mono} ${boot}`)
    .digest("hex");
  const at = [0, 8, 12, 16, 20, 32];
  return at
    .slice(1)
    .map((end, index) => digest.slice(at[index], end))
    .join("-");
}

/** Returns undefined where there is no such file: then the other sources must do. */
function fromKernel(): Uint8Array | undefined {
  try {
    const file = openSync(KERNEL, "r");
    try {
      const bytes = new Uint8Array(BYTES);
      readSync(file, bytes);
      return bytes;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
