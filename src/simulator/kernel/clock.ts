// A virtual clock: what one host would read at a given true instant. Its rate is constant while it runs; its hands can stop.
//
//   suspend   the mono hand stops, the boot hand runs on           (the host sleeps)
//   freeze    every hand stops                                     (the virtual machine is paused)
//   jump      the wall hand moves; mono and boot do not            (somebody sets the time)
//   quantum   a hand shows the last multiple of its quantum: behind the true instant by less than that, never ahead of it
//
// The world draws quanta within the declared grain and rates within ρ, except in the control run, which is meant to break an invariant.
import type { Reading } from "../../base/clock.ts";

export interface ClockSpec {
  /** Local milliseconds per true millisecond. */
  readonly rate: number;
  /** What the hands show at true time 0. */
  readonly startMs: number;
  readonly monoQuantumMs: number;
  readonly bootQuantumMs: number;
}

export class VirtualClock {
  readonly #spec: ClockSpec;
  #sinceMs = 0;
  #monoMs: number;
  #bootMs: number;
  #wallOffsetMs = 0;
  #suspended = 0;
  #frozen = 0;
  /** The last reading. Every reader at that instant gets the same one: whatever is done to a clock, its hands show the same until time passes. */
  #readAtMs = -1;
  #reading: Reading = { mono: 0, boot: 0 };

  constructor(spec: ClockSpec) {
    this.#spec = spec;
    this.#monoMs = spec.startMs;
    // The hands start apart, so that code which mixes them up is found.
    this.#bootMs = spec.startMs + 7;
  }

  read(trueMs: number): Reading {
    if (trueMs === this.#readAtMs) return this.#reading;
    const { monoQuantumMs, bootQuantumMs } = this.#spec;
    this.#readAtMs = trueMs;
    this.#reading = { mono: shown(this.#mono(trueMs), monoQuantumMs), boot: shown(this.#boot(trueMs), bootQuantumMs) };
    return this.#reading;
  }

  /** The wall hand counts as the boot hand does, and jumps. */
  readWall(trueMs: number): number {
    return this.#boot(trueMs) + this.#wallOffsetMs;
  }

  /** The first true instant at which the mono hand shows at least `monoMs`; Infinity while it stands. */
  trueTimeOf(monoMs: number): number {
    if (this.#suspended > 0 || this.#frozen > 0) return Infinity;
    const { rate, monoQuantumMs } = this.#spec;
    const needed = monoQuantumMs > 0 ? Math.ceil(monoMs / monoQuantumMs) * monoQuantumMs : monoMs;
    return this.#sinceMs + (needed - this.#monoMs) / rate;
  }

  /** The true instant at which `readWall` shows `wallMs`, if it does not jump until then. */
  trueTimeOfWall(wallMs: number): number {
    if (this.#frozen > 0) return Infinity;
    return this.#sinceMs + (wallMs - this.#wallOffsetMs - this.#bootMs) / this.#spec.rate;
  }

  /** Another clock that shows the same, and goes on by itself. */
  copy(): VirtualClock {
    const twin = new VirtualClock(this.#spec);
    twin.#sinceMs = this.#sinceMs;
    twin.#monoMs = this.#monoMs;
    twin.#bootMs = this.#bootMs;
    twin.#wallOffsetMs = this.#wallOffsetMs;
    twin.#suspended = this.#suspended;
    twin.#frozen = this.#frozen;
    return twin;
  }

  suspend(trueMs: number): void {
    this.#settle(trueMs);
    this.#suspended++;
  }

  resume(trueMs: number): void {
    this.#settle(trueMs);
    this.#suspended--;
  }

  freeze(trueMs: number): void {
    this.#settle(trueMs);
    this.#frozen++;
  }

  thaw(trueMs: number): void {
    this.#settle(trueMs);
    this.#frozen--;
  }

  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  #settle(trueMs: number): void {
    this.#monoMs = this.#mono(trueMs);
    this.#bootMs = this.#boot(trueMs);
    this.#sinceMs = trueMs;
  }

  #mono(trueMs: number): number {
    const stands = this.#suspended > 0 || this.#frozen > 0;
    return stands ? this.#monoMs : this.#monoMs + (trueMs - this.#sinceMs) * this.#spec.rate;
  }

  #boot(trueMs: number): number {
    return this.#frozen > 0 ? this.#bootMs : this.#bootMs + (trueMs - this.#sinceMs) * this.#spec.rate;
  }
}

function shown(exactMs: number, quantumMs: number): number {
  return quantumMs > 0 ? Math.floor(exactMs / quantumMs) * quantumMs : exactMs;
}
