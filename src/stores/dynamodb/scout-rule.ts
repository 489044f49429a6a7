// When a waiting candidate may become the scout of a name, as a value: it has no clock, and counts its own rounds.
//
// The item of a scout changes with every round of the scout. It may be taken if nobody has it, or if it has not changed for so many rounds of the one that reads it.
// Rounds of others are longer than those of a scout, so a scout that lives is not replaced. If it is replaced all the same, two candidates look often
// for a while, which costs only requests.

/** What stands in the item of a name's scout. */
export interface Posted {
  readonly stamp: string;
  /** Whether its scout has left it. */
  readonly free: boolean;
}

/** What a candidate knows of the scout from round to round. */
export interface KnownScout {
  readonly stamp: string | undefined;
  /** How many rounds in a row have shown this stamp. */
  readonly rounds: number;
}

export const NOTHING_KNOWN: KnownScout = { stamp: undefined, rounds: 0 };

const SILENT_ROUNDS = 3;

export function learn(known: KnownScout, found: Posted | undefined): KnownScout {
  return { stamp: found?.stamp, rounds: found?.stamp === known.stamp ? known.rounds + 1 : 1 };
}

export function mayTake(known: KnownScout, found: Posted | undefined): boolean {
  return found === undefined || found.free || known.rounds >= SILENT_ROUNDS;
}
