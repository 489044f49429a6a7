// What a hunt is, in both worlds: one seed draws a world and its faults, and invariants judge it. A finding is told, made smaller and replayed in the same way everywhere.
// It is made smaller by taking faults out as long as the same invariant is still broken; the rest of the world stays as the seed drew it.

/** An invariant that was broken: which, how, and when. */
export interface Violation {
  readonly invariant: string;
  readonly story: string;
  readonly atMs: number;
}

/** How one seed is run. */
export interface HuntOptions {
  /** Numbers of the faults to keep; all of them if undefined. */
  readonly faults?: readonly number[] | undefined;
  /** Only these invariants judge; all of them if undefined. */
  readonly judgedBy?: readonly string[] | undefined;
  /** Writes down everything that happens. */
  readonly isRecorded?: boolean;
}

/** One seed, run to its end. */
export interface Hunted {
  readonly seed: number;
  /** In a word or two, what was drawn. */
  readonly label: string;
  readonly violation: Violation | undefined;
  /** How many events happened. */
  readonly events: number;
  readonly hash: string;
  /** Numbers of the faults that were in its schedule. */
  readonly faults: readonly number[];
}

/** The fewest faults that still break the same invariant. */
export interface Shrunk<Result extends Hunted> {
  /** Numbers of the faults that are still needed. */
  readonly faults: readonly number[];
  readonly runs: number;
  /** The run with only those. */
  readonly result: Result;
}

/** First large pieces are taken out, then single ones, until no single fault can be left out. Undefined if this seed breaks nothing. */
export function shrink<Result extends Hunted, Options extends HuntOptions>(
  run: (options: Options) => Result,
  options: Options,
): Shrunk<Result> | undefined {
  const quiet = { ...options, isRecorded: false };
  const first = run(quiet);
  if (first.violation === undefined) return undefined;
  const { invariant } = first.violation;
  let { faults } = first;
  let runs = 1;
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < faults.length;) {
      const fewer = faults.filter((_fault, place) => place < from || place >= from + size);
      runs++;
      if (run({ ...quiet, faults: fewer }).violation?.invariant === invariant) faults = fewer;
      else from += size;
    }
  return { faults, runs: runs + 1, result: run({ ...options, faults }) };
}
