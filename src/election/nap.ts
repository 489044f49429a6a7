// A pause that a signal ends early. It never rejects: the caller looks at the signal afterwards.
import type { Clock } from "../base/clock.ts";
import { onAbort } from "./abort.ts";
import { nodeClock } from "./clock.ts";

export function nap(ms: number, signal: AbortSignal, clock: Clock = nodeClock()): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = clock.timer(ms, () => {
      stop();
      resolve();
    });
    const stop = onAbort(signal, () => {
      timer.cancel();
      resolve();
    });
  });
}
