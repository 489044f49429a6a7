// Work that was told to stop and goes on is waited for without end: its term stays held, and is renewed, until the work has settled, because nobody else may lead before (law 8). A mistake in such
// work, such as a loop over `isHeld()`, would make `close()` wait in silence. So whoever hears of the candidate is told.
import type { Timer } from "../base/clock.ts";
import type { LossReason } from "../base/errors.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Name } from "../lease/exchange.ts";

/** Work has this long beyond `drainMs`. Together with the usual `drainMs` this is shorter than the 10 s of Docker, after which nothing could be reported any more. */
const PATIENCE_MS = 5_000;

export interface ReminderOptions {
  readonly name: Name;
  readonly drainMs: number;
  readonly timer: (afterMs: number, wake: () => void) => Timer;
  readonly tell: (event: ConclaveEvent) => void;
}

export class Reminder {
  readonly #options: ReminderOptions;
  #timer: Timer | undefined;

  constructor(options: ReminderOptions) {
    this.#options = options;
  }

  /** `isWorking` is asked when the time is up. */
  begin(reason: LossReason, isWorking: () => boolean): void {
    const { name, drainMs, timer, tell } = this.#options;
    const afterMs = drainMs + PATIENCE_MS;
    this.#timer ??= timer(afterMs, () => {
      if (!isWorking()) return;
      const seconds = (afterMs / 1000).toFixed(1);
      const message = `"${name}": the work was told to stop (${reason}) ${seconds} s ago and has not settled. The term stays held until it has, so no other candidate leads, and close() waits. Pass term.signal to everything that the work awaits, and loop over term.isLeading(); term.isHeld() is true until the work has settled.`;
      tell({ type: "warning", code: "STILL_WORKING", election: name, message });
    });
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
