// Events of a process that stands still wait here, and all come at once when it goes on: timers first, or in order of arrival.
import { nextChance, type Rng } from "../../base/rng.ts";

export interface DeferredEvent {
  readonly kind: string;
  readonly subject: number;
  readonly payload: unknown;
}

export class Backlog {
  readonly #waiting: DeferredEvent[] = [];
  #standstills = 0;

  get isStanding(): boolean {
    return this.#standstills > 0;
  }

  /** Returns whether the process ran until now. */
  stop(): boolean {
    return this.#standstills++ === 0;
  }

  /** Returns whether the process goes on. */
  go(): boolean {
    return --this.#standstills === 0;
  }

  wait({ kind, subject, payload }: DeferredEvent): void {
    this.#waiting.push({ kind, subject, payload });
  }

  take(rng: Rng): readonly DeferredEvent[] {
    const waiting = this.#waiting.splice(0);
    if (nextChance(rng, 0.5)) return waiting;
    const isTimer = ({ kind }: DeferredEvent): boolean => kind !== "message";
    return [...waiting.filter(isTimer), ...waiting.filter((happening) => !isTimer(happening))];
  }
}
