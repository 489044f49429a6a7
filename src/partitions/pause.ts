// Waits for a while, or until a signal aborts. Never rejects.
import type { Clock } from "../base/clock.ts";
import { onAbort } from "../election/abort.ts";

export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
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
