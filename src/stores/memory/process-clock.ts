// The clock of this process as `memory:` needs it: the monotonic hand only, for a store that lives and sleeps with the process it is in.
// Its timers keep no process alive.
import { performance } from "node:perf_hooks";
import type { Clock } from "../../base/clock.ts";

export const processClock: Clock = {
  grain: { monoMs: 1, bootMs: 1 },
  now: () => {
    const mono = performance.now();
    return { mono, boot: mono };
  },
  timer: (afterMs, wake) => {
    const timer = setTimeout(wake, Math.ceil(afterMs)).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
