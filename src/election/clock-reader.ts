// Reads the clocks for one runner, and can read them again at a lower cost shortly after.
import type { Clock, Reading } from "../base/clock.ts";

/** How old a reading of boot time may be to be used again. Boot time is as coarse as this anyway. */
const STILL_MS = 10;
/** How long this process may have run since a reading by which work still begins. */
const NEAR_MS = 1;

/** One reading of the clocks for all that ask for one in the same turn of the loop. It is taken after the last of them has asked. */
export class SharedReading {
  readonly #take: () => Reading;
  #next: Promise<Reading> | undefined;

  constructor(take: () => Reading) {
    this.#take = take;
  }

  next(): Promise<Reading> {
    this.#next ??= Promise.resolve().then(() => {
      this.#next = undefined;
      return this.#take();
    });
    return this.#next;
  }
}

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
   * For the question whether work may begin. Works that were granted together share the reading that was taken after their grants. If this process has run for longer than a millisecond
   * since then, because the work before this one has blocked the loop, both clocks are read anew.
   * SAFETY  what differs from reading them for each work is a host that falls asleep within this millisecond: the work then begins by a reading from before the sleep. The same happens to
   * a reading that is taken right before the host falls asleep, so no caller can rely on more. Whether the work was done within its term is asked again when it has settled, by a
   * reading that is taken after that.
   */
  near(): Reading {
    return this.#sameBoot(NEAR_MS);
  }

  /**
   * Shortly after both clocks were read, this reads the monotonic one anew and keeps boot time as it was, because reading boot time takes a call of the kernel. So boot time shows a past
   * instant, as a coarse clock does, and an older one if the host slept in just that moment. It is not advanced by what the monotonic clock shows: the next true reading is coarse and could
   * be behind that, and a clock must never go back. This reading is never used to say that a term is held, or to grant anything: that takes `now`. A request that is dated by this reading is
   * believed in for a shorter time. Silence is measured by the monotonic clock alone. The answer to a release only ends a term that is given back already.
   */
  again(): Reading {
    return this.#sameBoot(STILL_MS);
  }

  #sameBoot(withinMs: number): Reading {
    const mono = this.#clock.mono?.();
    const last = this.#last;
    if (mono === undefined || last === undefined || mono - last.mono > withinMs) return this.now();
    return { mono, boot: last.boot };
  }
}
