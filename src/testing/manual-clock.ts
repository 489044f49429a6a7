// A clock that moves only when told. `advance` goes from timer to timer in the order in which they are due, and lets every promise job settle in between, so that all effects of a timer have happened
// before the next one fires.
//
// Its two readings, monotonic and boot time, are exact: their grain is 0. They differ only after `suspend`.
import type { Clock, Grain, Reading, Timer } from "../base/clock.ts";

interface Alarm {
  readonly dueAt: number;
  readonly wake: () => void;
}

/** If more timers than this fire at one instant, they wake each other for ever. */
const ALARMS_AT_ONCE_MAX = 100_000;

/** It is taken when this module is loaded: a test runner may put a fake in its place later. */
const nextTurn = globalThis.setImmediate;

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  readonly grain: Grain = { monoMs: 0, bootMs: 0 };
  #mono: number;
  #boot: number;
  #wallOffset: number;
  /** The alarms in the order of their due time; of equal ones the older comes first. */
  readonly #alarms: Alarm[] = [];

  /** `wallMs`: the reading of the wall clock at the start, in milliseconds since the epoch; for schedules. @default 0 */
  constructor(startMs = 0, wallMs = 0) {
    this.#mono = startMs;
    this.#boot = startMs;
    this.#wallOffset = wallMs - startMs;
  }

  now(): Reading {
    return { mono: this.#mono, boot: this.#boot };
  }

  wall(): number {
    return this.#boot + this.#wallOffset;
  }

  /** Sets the time of day: neither the monotonic clock nor boot time moves. */
  setWall(wallMs: number): void {
    this.#wallOffset = wallMs - this.#boot;
  }

  timer(afterMs: number, wake: () => void): Timer {
    const alarm: Alarm = { dueAt: this.#mono + Math.max(0, afterMs), wake };
    const before = this.#alarms.findLastIndex(({ dueAt }) => dueAt <= alarm.dueAt);
    this.#alarms.splice(before + 1, 0, alarm);
    return { cancel: () => this.#strike(alarm) };
  }

  /** Monotonic and boot time run on for `ms`; every timer fires at its time. */
  async advance(ms: number): Promise<void> {
    const until = this.#mono + ms;
    let atOnce = 0;
    await settle();
    for (let alarm = this.#alarms[0]; alarm !== undefined && alarm.dueAt <= until; alarm = this.#alarms[0]) {
      atOnce = alarm.dueAt > this.#mono ? 0 : atOnce + 1;
      if (atOnce > ALARMS_AT_ONCE_MAX)
        throw new Error(
          `ManualClock: more than ${ALARMS_AT_ONCE_MAX} timers fired at ${this.#mono} ms: they wake each other for ever`,
        );
      this.freeze(Math.max(0, alarm.dueAt - this.#mono));
      this.#strike(alarm);
      alarm.wake();
      await settle();
    }
    this.freeze(Math.max(0, until - this.#mono));
    await settle();
  }

  /** The host sleeps for `ms`: boot time runs on, the monotonic clock stands still, and no timer fires. */
  suspend(ms: number): void {
    this.#boot += ms;
  }

  /** The process stands still for `ms`, stopped or in a blocked loop: monotonic and boot time run on, and timers that fall due are late until the next `advance`. */
  freeze(ms: number): void {
    this.#mono += ms;
    this.#boot += ms;
  }

  #strike(alarm: Alarm): void {
    const index = this.#alarms.indexOf(alarm);
    if (index >= 0) this.#alarms.splice(index, 1);
  }
}

/** The queue of promise jobs is empty whenever a turn of the loop begins. */
function settle(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}
