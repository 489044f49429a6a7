// Maps for entries that come and go all the time: each lock that is taken and given back has one in several books.
//
// V8 makes a new table for a map when the old one is full, which that of few entries is after as many have come and gone; and the old table points to the new one. Once a table counts as old for the
// garbage collector, as after a pause, all later ones hang on to it: they, and all that was in them, stay until the next full collection. With 64 locks at once that was a third of all time.

/** A table has room for so many more, at least. */
const ADDED_MOST = 32;

/**
 * The map to add the next entry to: from time to time a new one with the same entries, at which no old table points. `added` counts what was ever added, with the one that follows. For many entries it
 * is made as seldom as there are many. Nobody may add an entry while somebody goes through the map, who would not come to it.
 */
export function renewed<K, V>(map: Map<K, V>, added: number): Map<K, V> {
  const every = 2 ** (32 - Math.clz32(Math.max(ADDED_MOST, map.size)));
  return added % every === 0 ? new Map(map) : map;
}
