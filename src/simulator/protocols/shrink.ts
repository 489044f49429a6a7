// Makes a finding smaller: takes faults out of a drawn world as long as the same invariant is still broken. First large pieces, then single ones.
import { huntProtocol, type ProtocolHuntOptions, type ProtocolHuntResult } from "./hunt.ts";

/** The places of the faults that are still needed, and the run with only those, recorded. Undefined if this seed breaks nothing. */
export function shrinkHunt(
  name: string,
  seed: number,
  options: Pick<ProtocolHuntOptions, "judgedBy"> = {},
): { readonly faults: readonly number[]; readonly result: ProtocolHuntResult } | undefined {
  const { world, violation } = huntProtocol(name, seed, options);
  if (violation === undefined) return undefined;
  const isStillBroken = (faults: readonly number[]): boolean =>
    huntProtocol(name, seed, { ...options, faults }).violation?.invariant === violation.invariant;
  let faults: readonly number[] = Array.from({ length: world.faults }, (_, place) => place);
  for (let size = Math.ceil(faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < faults.length;) {
      const fewer = [...faults.slice(0, from), ...faults.slice(from + size)];
      if (isStillBroken(fewer)) faults = fewer;
      else from += size;
    }
  return { faults, result: huntProtocol(name, seed, { ...options, faults, isRecorded: true }) };
}
