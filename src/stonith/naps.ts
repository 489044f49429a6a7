// Waiting that a signal ends. Never rejects.
import type { Clock } from "../base/clock.ts";
import { onAbort } from "../election/abort.ts";
import { nodeClock } from "../election/clock.ts";

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
