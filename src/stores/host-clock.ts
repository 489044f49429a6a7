// How a store that brings its own time (a fake, with the clock in the tester's hand) tells the host to read that clock too.
import type { Clock } from "../base/clock.ts";

export const hostClock: unique symbol = Symbol.for("conclave.clock");

export interface WithClock {
  readonly [hostClock]: Clock;
}

export function hostClockOf(store: object | undefined | null): Clock | undefined {
  return typeof store === "object" && store !== null && hostClock in store ? (store[hostClock] as Clock) : undefined;
}
