// Boot time on Linux, without a call of the kernel for each reading. The call takes 3 µs, which is as long as everything else that a lock costs in this process. So a reading of boot time is used
// again for a few milliseconds, unless the host has slept in between.
//
// How a sleep is noticed: while the host sleeps, the monotonic clock stands still. When the host wakes, Linux moves boot time and the wall clock forward by the same amount, as long as it has slept.
// So the difference between the wall clock and the monotonic clock has grown by that amount. A wall clock that somebody sets changes the difference, too. In both cases boot time is read anew.
//
// SAFETY  a term whose host has slept past its deadline must not count as held. A reading that is used again hides a sleep only in two cases.
//   - The sleep was shorter than NOTICED_MS; or than KEPT_MS more, if this process was stopped between reading the two clocks the last time. Then boot time is behind by 10 ms at most (the steps of
//     the kernel), and KEPT_MS for the age of the reading, and the length of the sleep. The sum is the grain of 20 ms, which every deadline leaves out.
//   - Somebody set the wall clock back by just as long as the host has slept, within KEPT_MS of this host's waking time around the sleep. The reading then shows an instant from before the sleep for the
//     rest of these milliseconds. A process whose host falls asleep right after a reading acts by the same instant for as long, and no clock can exclude that: only a token can.
//
// The order in which the clocks are read matters: the monotonic one, the wall clock, boot time. If the host sleeps between the first two, the difference is too great once, and boot time is read.
// If it sleeps before boot time is read, boot time contains the sleep, and the next reading finds another difference and reads it again.
import type { Reading } from "../base/clock.ts";

/** How old a reading of boot time may be on the monotonic clock. */
const KEPT_MS = 4;
/** The wall clock shows whole milliseconds, so the difference between the two clocks wavers by one. */
const NOTICED_MS = 2;

/** Three clocks of one host, in milliseconds. */
export interface Hands {
  readonly monoMs: () => number;
  readonly wallMs: () => number;
  readonly bootMs: () => number;
}

export function keptBootTime({ monoMs, wallMs, bootMs }: Hands): () => Reading {
  let readAtMono = -Infinity;
  let wallAhead = 0;
  let boot = 0;
  return () => {
    const mono = monoMs();
    const ahead = wallMs() - mono;
    const isFresh = mono - readAtMono <= KEPT_MS && Math.abs(ahead - wallAhead) < NOTICED_MS;
    if (!isFresh) {
      readAtMono = mono;
      wallAhead = ahead;
      boot = bootMs();
    }
    return { mono, boot };
  };
}
