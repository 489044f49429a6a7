// What parts of conclave that stand on an election need of it and users do not: its store, its clock, and a way to tell its listeners something.
import type { Clock } from "../base/clock.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Store } from "../stores/contract.ts";

export interface Inside {
  readonly store: Store;
  readonly clock: Clock;
  /** As an event of the candidate: to its listeners, its logger, the channel. */
  readonly tell: (event: ConclaveEvent) => void;
}

/** Not on the type of an election. */
interface HasInside {
  inside(): Inside;
}

/** Undefined: an election that somebody else has made, for a test. */
export function insideOf(election: object): Inside | undefined {
  return "inside" in election ? (election as HasInside).inside() : undefined;
}
