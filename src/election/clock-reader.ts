// Reads the clocks for one runner, and knows how to read them again for less shortly after.
import type { Clock, Reading } from "../base/clock.ts";

/** How old a reading may be to be carried on: as coarse as boot time is anyway. */
const CARRIED_MS = 10;

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
   * Shortly after both hands were read: the monotonic one anew, and boot time carried on from there by as much (reading it takes a call of the kernel). If the
   * host slept in just that moment, boot shows an instant that is past, as a coarse hand does. So nobody is told by it that a term is held: that takes `now`.
   * What is sent at it is believed in for less, and silence is watched on the monotonic hand alone.
   */
  again(): Reading {
    const mono = this.#clock.mono?.();
    const last = this.#last;
    if (mono === undefined || last === undefined || mono - last.mono > CARRIED_MS) return this.now();
    return { mono, boot: last.boot + (mono - last.mono) };
  }
}
