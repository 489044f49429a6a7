// An assertion is for bugs of ours: what it says cannot be false whatever a store, a network or a user does.
// Outcomes of the outside world are never asserted; they are values (outcome.ts) or errors (errors.ts).

export class AssertionFailed extends Error {
  override readonly name: string = "AssertionFailed";
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailed(`this is a bug in conclave: not true that ${claim}`);
}

/** The end of a switch over a union: does not compile while a case is missing. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`this is a bug in conclave: unexpected ${JSON.stringify(value)}`);
}
