// What a hunt has exercised, counted by names that a world has chosen. A hunt in which no difficult case occurred has tested nothing, so each world
// says how often each case must occur.

/** How often each thing happened. */
export type Tallies = Readonly<Record<string, number>>;

/** Zero for each name of the minima. */
export function emptyTallies<Name extends string>(minima: Readonly<Record<Name, number>>): Record<Name, number> {
  return Object.fromEntries(Object.keys(minima).map((name) => [name, 0])) as Record<Name, number>;
}

/** Adds `more` to `total`, name by name. */
export function addTallies(total: Record<string, number>, more: Tallies): void {
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count;
}

/** What was exercised too little, in words; `minima` are those of a thousand seeds. With fewer seeds nothing is expected. */
export function missedTallies(
  { minima = {} }: { readonly minima?: Tallies },
  tallies: Tallies,
  seeds: number,
): readonly string[] {
  if (seeds < 1000) return [];
  return Object.entries(minima)
    .filter(([name, least]) => (tallies[name] ?? 0) < (least * seeds) / 1000)
    .map(
      ([name, least]) => `${name}: ${tallies[name] ?? 0} in ${seeds} seeds, at least ${least} in 1000 were expected`,
    );
}
