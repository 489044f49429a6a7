// Deterministic assignment by rendezvous hashing (Thaler and Ravishankar 1998): it finds the owner of a key without an election and without a message. Each member has a score for each key; the member
// with the greatest score owns the key.
//
// ASSUMES  All callers use the same list of members. The order of the list does not matter.
// PROMISES  All such callers get the same answer. Balance: each of n members has about 1/n of the keys, or its weight's share of them. Minimal disruption: when a member leaves, only its keys move, and
// to all others evenly; when one comes, keys move only to it; when a weight grows, only to that member.
// DOES NOT PROMISE  One owner while lists differ. A member on the list need not be alive, and another member may believe that it owns the key: to act exclusively, agree on the list first (a lease, a
// term), or fence.
//
// A question costs one hash of the key and one short mix per member. Instead of thousands of members take fewer, larger ones.
import { assert } from "../../base/assert.ts";
import { combine, fractionOf, type TextHash, hashText } from "./hash.ts";

/** A member and the share of keys that it takes. */
export interface WeightedMember {
  readonly id: string;
  /** The weight is relative to those of the others, and above 0. */
  readonly weight: number;
}

/** Returns the owner of `key`; undefined: there are no members. */
export function rendezvousOwner(key: string, members: readonly string[]): string | undefined {
  return rendezvousOwners(key, members, 1)[0];
}

/** Returns the first `count` members for `key`, in order: an owner and its stand-ins. If the owner leaves, the second is the owner. */
export function rendezvousOwners(key: string, members: readonly string[], count: number): readonly string[] {
  const hash = hashText(key);
  return first(
    count,
    members.map((id) => ({ id, score: chanceOf(hash, id) })),
  );
}

/** Returns the owner of `key`, where members take shares by their weights; undefined: there are no members. */
export function weightedOwner(key: string, members: readonly WeightedMember[]): string | undefined {
  return weightedOwners(key, members, 1)[0];
}

/**
 * The score is −weight/ln(u) with u even in (0, 1): the chance that a member has the greatest score is its share of the weight (Schindelhauer and Schomaker 2005: exponential clocks, of which the first
 * to ring wins). Equal weights order members as u itself does. Engines may differ in a logarithm's last bit, which matters to one key in some 2^50.
 */
export function weightedOwners(key: string, members: readonly WeightedMember[], count: number): readonly string[] {
  const hash = hashText(key);
  return first(
    count,
    members.map(({ id, weight }) => {
      assert(weight > 0 && Number.isFinite(weight), `the weight of ${id} is a number above 0`);
      return { id, score: -weight / Math.log(chanceOf(hash, id)) };
    }),
  );
}

interface Scored {
  readonly id: string;
  readonly score: number;
}

/** Equal scores, which do not happen in practice, must not depend on the order of the list. */
function first(count: number, scored: readonly Scored[]): readonly string[] {
  const ranked = scored.toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  return ranked.slice(0, count).map(({ id }) => id);
}

function chanceOf(key: TextHash, id: string): number {
  return fractionOf(combine(key, hashText(id)));
}
