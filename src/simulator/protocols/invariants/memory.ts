// The memory of invariants: one value for each member, and no more for a long run than for a short one.

/** Ids are 1…N; place 0 belongs to no member. */
export function perMember<Value>(nodes: number, valueOf: () => Value): Value[] {
  return Array.from({ length: nodes + 1 }, valueOf);
}

/** There is at most one entry too many, because this is called after each that is added. */
export function forgetOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  if (entries.size <= max) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
