// The things that other parts of conclave need of an election and users do not: its store, its clock, and a way to report an event to its listeners.
import type { Clock } from "../base/clock.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Store } from "../stores/contract.ts";

export interface Inside {
  readonly store: Store;
  readonly clock: Clock;
  /** Reports an event of the candidate: to its listeners, its logger, the channel. */
  readonly tell: (event: ConclaveEvent) => void;
}

/** This is not on the type of an election. */
interface HasInside {
  inside(): Inside;
}

/** Returns undefined for an election that somebody else has made, for a test. */
export function insideOf(election: object): Inside | undefined {
  return "inside" in election ? (election as HasInside).inside() : undefined;
}
