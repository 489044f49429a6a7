// What a store must be able to do so that the recipe of this folder can elect on it: read records, replace one record under a condition, and list
// records by the beginning of their keys. It needs no transaction over several records, no clock and no expiry.
//
// INVARIANT  a swap is one step for everybody: no other write of that key comes between its comparison and its writing
// INVARIANT  reads are linearizable: what a swap has answered is seen by every read that is sent afterwards
// INVARIANT  a stamp of a key never repeats, not even after the record was deleted and made again
import type { Refused, Unknown } from "../../base/outcome.ts";
import type { Call } from "../contract.ts";

export interface StampedText {
  readonly key: string;
  readonly text: string;
  /** Names this very write of the key. It is compared for equality only. */
  readonly stamp: string;
}

/** The answer has one place for each key that was asked for; undefined means that there is no record. */
export type Found =
  | { readonly kind: "found"; readonly entries: readonly (StampedText | undefined)[] }
  | Unknown
  | Refused;

export type Swapped =
  | { readonly kind: "swapped"; readonly stamp: string }
  /** Not written: another record stands there than the one named by `over`. This request will not be applied later either. */
  | { readonly kind: "conflict" }
  | Unknown
  | Refused;

export type Listed = { readonly kind: "listed"; readonly entries: readonly StampedText[] } | Unknown | Refused;

export interface SwapPort {
  /** Each record as it stands at some instant of the call. The records need not be of the same instant. */
  read(keys: readonly string[], call: Call): Promise<Found>;
  /** Writes `text` if the record at `key` is the one with the stamp `over`; undefined means that there must be none. */
  swap(key: string, over: string | undefined, text: string, call: Call): Promise<Swapped>;
  /** All records whose keys begin with `prefix`. */
  list(prefix: string, call: Call): Promise<Listed>;
  /** Closes what the port itself opened. */
  close(): Promise<void>;
}
