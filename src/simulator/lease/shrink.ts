// Makes a finding smaller: takes faults out of a seed's schedule, as long as the same invariant is still broken. First large pieces, then single
// ones, until no single fault can be left out. The world, its clocks and its network stay as the seed drew them.
import { type RunOptions, type RunResult, runSeed } from "./hunt.ts";

export interface Shrunk {
  /** Indices of the faults that are still needed. */
  readonly faults: readonly number[];
  readonly runs: number;
  readonly result: RunResult;
}

/** Undefined if this seed breaks nothing. */
export function shrinkSeed(seed: number, options: RunOptions = {}): Shrunk | undefined {
  const { isRecorded: _unused, ...rest } = options;
  let result = runSeed(seed, rest);
  if (result.violation === undefined) return undefined;
  const { invariant } = result.violation;
  let faults = result.spec.faults.map(({ index }) => index);
  let runs = 1;
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < faults.length;) {
      const fewer = faults.filter((_fault, place) => place < from || place >= from + size);
      const attempt = runSeed(seed, { ...rest, faults: fewer });
      runs++;
      if (attempt.violation?.invariant !== invariant) from += size;
      else [faults, result] = [fewer, attempt];
    }
  return { faults, runs, result };
}
