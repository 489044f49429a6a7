// The messages between processes and the store, and the addresses of both.
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
  /** The time of sending in true time, so that a store can be late on purpose. */
  readonly sentAtMs: number;
  /** The caller has stopped waiting. The request is not recalled, and the store may still apply it. This is only counted. */
  isGivenUp: boolean;
}

/** The answer is sent to one life of a process: a later life at the same address does not know the errand. */
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
