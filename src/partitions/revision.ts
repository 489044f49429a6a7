// Where a chunk of assignments stands in the order of all its writes, and the fencing token of one assignment. Pure.
//
// Each write of a chunk has a revision (token of the controller's term, n). A memo of an older term is refused by the store, and within a term n counts the writes, so that
// revisions of one chunk only grow (docs/adr/0037-memos.md). The epoch of a partition is the revision of the write that assigned it.
//
// A guard compares one number: token · 2^64 + n. INVARIANT: n < 2^64, which a counter of writes does not reach.
import { assert } from "../base/assert.ts";

/** A term of the controller. */
export interface ControllerTerm {
  readonly token: bigint;
  readonly bid: string;
}

/** One write of a chunk. */
export interface Revision {
  readonly term: ControllerTerm;
  /** Counts the writes of the chunk in that term, from 1. */
  readonly n: number;
}

/** What a guard reads of an epoch. */
export interface EpochToken {
  readonly domain: string;
  readonly value: bigint;
  readonly bid: string;
}

const SHIFT = 64n;

/** Below 0: `a` is the earlier. Equal numbers of different bids do not happen while the store keeps its counter; then neither is the later. */
export function compareRevisions(a: Revision, b: Revision): number {
  if (a.term.token !== b.term.token) return a.term.token < b.term.token ? -1 : 1;
  return a.n - b.n;
}

/** Whether both name the same write. Equal numbers of different bids are different writes: the store has forgotten. */
export function isSameRevision(a: Revision, b: Revision): boolean {
  return a.n === b.n && a.term.token === b.term.token && a.term.bid === b.term.bid;
}

/** Whether a statement made at `seen` speaks of what was written at `written`. */
export function covers(seen: Revision, written: Revision): boolean {
  if (seen.term.token === written.term.token && seen.term.bid !== written.term.bid) return false;
  return compareRevisions(seen, written) >= 0;
}

/** The domain of the epochs of a group: epochs are compared only with each other. */
export function epochDomain(storeDomain: string, group: string): string {
  return `${storeDomain}/partitions/${group}`;
}

export function epochToken(domain: string, { term, n }: Revision): EpochToken {
  assert(Number.isSafeInteger(n) && n > 0, "a revision counts from 1");
  return { domain, value: (term.token << SHIFT) | BigInt(n), bid: `${term.bid}/${n}` };
}
