// One request of a process to a store, in a world of tasks. It may be lost on its way, arrive long after its sender has given up, or be carried out and stay without an answer. The sender hears one thing, once:
// the answer, or after a while that there is none. Then the request may have been carried out, or be carried out later.
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import type { Process } from "./process.ts";

/** How requests travel; a world changes them when its calm begins. */
export interface RequestLinks {
  readonly latencyMaxMs: number;
  /** The chance that a request is lost, and that an answer is lost. */
  readonly lossChance: number;
  /** The chance that a request that is lost for its sender arrives long after. */
  readonly lateChance: number;
}

/** Links in the calm at the end of a world. */
export const CALM_LINKS: RequestLinks = { latencyMaxMs: 2, lossChance: 0, lateChance: 0 };

/** What becomes of one request. */
export interface Journey {
  /** How long it travels to the store. Undefined: it never arrives. */
  readonly thereMs: number | undefined;
  /** Asked when the store has answered. Undefined: the answer is lost. */
  readonly backMs: () => number | undefined;
  /** How long its sender waits. */
  readonly timeoutMs: number;
}

/** `isCut`: the request does not reach the store in time. `lateMaxMs`: by how much a late request is late, at most. */
export function journeyOver(
  { latencyMaxMs, lossChance, lateChance }: RequestLinks,
  isCut: boolean,
  lateMaxMs: number,
  timeoutMs: number,
  rng: Rng,
): Journey {
  const isLost = isCut || nextChance(rng, lossChance);
  const isLate = isLost && nextChance(rng, lateChance);
  const travel = (): number => nextBetween(rng, 0, latencyMaxMs);
  return {
    thereMs: isLost && !isLate ? undefined : travel() + (isLate ? nextBetween(rng, 0, lateMaxMs) : 0),
    backMs: () => (isLost || nextChance(rng, lossChance) ? undefined : travel()),
    timeoutMs,
  };
}

/** Where time passes for a process. */
interface Later {
  later(afterMs: number, process: Process | undefined, run: () => void): void;
}

/** What a request asks, and how it ends for its sender. */
export interface Asking<Answer> {
  /** What the store does when the request arrives. It does so whether or not the sender lives. */
  readonly atStore: () => Answer;
  readonly onAnswer: (answer: Answer) => void;
  readonly onTimeout: () => void;
}

export function send<Answer>(
  world: Later,
  process: Process,
  { thereMs, backMs, timeoutMs }: Journey,
  { atStore, onAnswer, onTimeout }: Asking<Answer>,
): void {
  let isOpen = true;
  const close = (then: () => void): void => {
    if (!isOpen) return;
    isOpen = false;
    then();
  };
  if (thereMs !== undefined)
    world.later(thereMs, undefined, () => {
      const answer = atStore();
      const afterMs = backMs();
      if (afterMs !== undefined) world.later(afterMs, process, () => close(() => onAnswer(answer)));
    });
  world.later(timeoutMs, process, () => close(onTimeout));
}
