// Time as a value. Nothing in the pure folders reads a clock: a reading is handed in.
//
// A reading has two hands, because a suspended host stops one of them:
//   mono   never jumps, may stand still while the host sleeps (CLOCK_MONOTONIC on Linux)
//   boot   never jumps, counts sleep (CLOCK_BOOTTIME). Where mono counts sleep, both hands show the same.
// Both in milliseconds since an arbitrary start. No term depends on a wall clock: it jumps.
//
// Assumptions on which exclusion rests (docs/GUARANTEES.md says what happens where they fail):
//   rate    a running clock's rate is within ρ of real time
//   grain   a hand may show an instant up to `grain` ms before the true one, never one after it

export interface Reading {
  readonly mono: number;
  readonly boot: number;
}

/** What a host needs of time. The Node host reads the kernel's; tests and the simulator bring their own. */
export interface Clock {
  now(): Reading;
  /** UTC in milliseconds since the epoch, for schedules alone: it may jump, and no term is held or lost by it. */
  wall?(): number;
  /** Calls `wake` once, no earlier than `afterMs` on the monotonic hand. Timers may be late, and are not trusted to be on time. */
  timer(afterMs: number, wake: () => void): Timer;
  readonly grain: Grain;
}

export interface Timer {
  cancel(): void;
}

/** How coarse each hand is, in milliseconds. */
export interface Grain {
  readonly monoMs: number;
  readonly bootMs: number;
}
