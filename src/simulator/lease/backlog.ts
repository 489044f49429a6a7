// What happens to a process while it stands still waits here, and comes all at once when it goes on: timers first, or in order of arrival.
import { nextChance, type Rng } from "../../base/rng.ts";

export interface Happening {
  readonly kind: string;
  readonly subject: number;
  readonly payload: unknown;
}

export class Backlog {
  readonly #waiting: Happening[] = [];
  #standstills = 0;

  get isStanding(): boolean {
    return this.#standstills > 0;
  }

  /** Whether it has stood still only from now on. */
  stop(): boolean {
    return this.#standstills++ === 0;
  }

  /** Whether it goes on. */
  go(): boolean {
    return --this.#standstills === 0;
  }

  wait({ kind, subject, payload }: Happening): void {
    this.#waiting.push({ kind, subject, payload });
  }

  take(rng: Rng): readonly Happening[] {
    const waiting = this.#waiting.splice(0);
    if (nextChance(rng, 0.5)) return waiting;
    const isTimer = ({ kind }: Happening): boolean => kind !== "message";
    return [...waiting.filter(isTimer), ...waiting.filter((happening) => !isTimer(happening))];
  }
}
