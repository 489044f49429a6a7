// What travels between processes and the store, and who lives at which address.
import type { Hint } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { Who } from "./observation.ts";

export const STORE_ADDRESS = 0;

export function addressOf(slot: number): number {
  return slot + 1;
}

export interface RequestMessage {
  readonly kind: "request";
  readonly who: Who;
  readonly errand: number;
  readonly request: Request;
  /** In true time, so that a store can be late on purpose. */
  readonly sentAtMs: number;
  /** The caller has stopped waiting. Nothing is recalled; the store may commit it yet. Only counted. */
  isGivenUp: boolean;
}

/** To one life of a process: a later one at the same address does not know the errand. */
export interface AnswerMessage {
  readonly kind: "answer";
  readonly who: Who;
  readonly errand: number;
  readonly answer: Answer;
}

export interface HintMessage {
  readonly kind: "hint";
  readonly who: Who;
  readonly hint: Hint;
}
