// Reads the clocks for one runner, and can read them again at a lower cost shortly after.
import type { Clock, Reading } from "../base/clock.ts";

/** How old a reading of boot time may be to be used again. Boot time is as coarse as this anyway. */
const STILL_MS = 10;

export class ClockReader {
  readonly #clock: Clock;
  #last: Reading | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Reading {
    this.#last = this.#clock.now();
    return this.#last;
  }

  /**
   * Shortly after both clocks were read, this reads the monotonic one anew and keeps boot time as it was, because reading boot time takes a call of the kernel. So boot time shows a past
   * instant, as a coarse clock does, and an older one if the host slept in just that moment. It is not advanced by what the monotonic clock shows: the next true reading is coarse and could
   * be behind that, and a clock must never go back. This reading is never used to say that a term is held, or to grant anything: that takes `now`. A request that is dated by this reading is
   * believed in for a shorter time. Silence is measured by the monotonic clock alone. The answer to a release only ends a term that is given back already.
   */
  again(): Reading {
    const mono = this.#clock.mono?.();
    const last = this.#last;
    if (mono === undefined || last === undefined || mono - last.mono > STILL_MS) return this.now();
    return { mono, boot: last.boot };
  }
}
