// Reads the clocks for one runner, and knows how to read them again for less shortly after.
import type { Clock, Reading } from "../base/clock.ts";

/** How old a reading of boot time may be to be used again: as coarse as it is anyway. */
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
   * Shortly after both hands were read: the monotonic one anew, and boot time as it was (reading it takes a call of the kernel). So boot shows an instant that
   * is past, as a coarse hand does, and further past if the host slept in just that moment. It is not carried on by what the other hand shows: the next true
   * reading, being coarse, could be behind that, and a hand must never go back. Nobody is told by it that a term is held, and nothing is granted at it: that takes `now`.
   * What is sent at it is believed in for less, silence is watched on the monotonic hand alone, and the answer to a release only ends what is given back already.
   */
  again(): Reading {
    const mono = this.#clock.mono?.();
    const last = this.#last;
    if (mono === undefined || last === undefined || mono - last.mono > STILL_MS) return this.now();
    return { mono, boot: last.boot };
  }
}
