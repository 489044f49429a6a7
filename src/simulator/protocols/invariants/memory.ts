// What invariants remember: one value for each member, and no more of a long run than of a short one.

/** Ids are 1…N; place 0 is nobody's. */
export function perMember<Value>(nodes: number, valueOf: () => Value): Value[] {
  return Array.from({ length: nodes + 1 }, valueOf);
}

/** At most one too many: called after each that is added. */
export function forgetOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  if (entries.size <= max) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
