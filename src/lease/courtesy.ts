// What a waiting campaign remembers of an invitation for another (invited.ts). Plain data, as all of the machine's state (state.ts).
import type { Bid } from "./exchange.ts";

export interface Courtesy {
  /** The bid of the term after which the other is to lead. */
  readonly bid: Bid;
  /** A seat that is found free until then is left to the other for a while: once. */
  until: number;
  isSpent: boolean;
}
