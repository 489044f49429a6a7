// Reads the clocks for one runner, and knows how to read them again for less within the same turn of the loop.
import type { Clock, Reading } from "../base/clock.ts";

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
   * In the turn of the loop in which both hands were read: the monotonic one anew, and boot time carried on from there by as much (reading it takes a call of
   * the kernel). If the host slept in between, boot shows an instant that is past, as a coarse hand does. So nobody is told by it that a term is held: that
   * takes `now`. What is sent at it is believed in for less, and silence is watched on the monotonic hand alone.
   */
  again(): Reading {
    const mono = this.#clock.mono?.();
    if (mono === undefined || this.#last === undefined) return this.now();
    return { mono, boot: this.#last.boot + (mono - this.#last.mono) };
  }
}
