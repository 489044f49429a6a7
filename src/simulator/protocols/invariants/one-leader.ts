// Two members lead at once for no longer than the news of the later one takes to reach the earlier one. That is all that an algorithm without terms,
// quorums or leases can promise (Garcia-Molina 1982 says "eventually"), and only while its assumptions hold: a partition breaks it, which is called
// split brain.
import { perMember } from "./memory.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Member → the time since which it leads; Infinity: it does not lead. */
  readonly sinceMs: number[];
}

/** A message is handled when it arrives; this allows for rounding. */
const GRACE_MS = 1;

export const oneLeader: Invariant<Memory> = {
  name: "one-leader",
  remember: (nodes) => ({ sinceMs: perMember(nodes, () => Infinity) }),
  after({ sinceMs }, view) {
    let [first, second] = [0, 0];
    for (const { id, isUp, isPaused, role } of view.members) {
      const leads = isUp && !isPaused && role === "leader";
      if (!leads) sinceMs[id] = Infinity;
      else if (sinceMs[id] === Infinity) sinceMs[id] = view.nowMs;
      const since = sinceMs[id] ?? Infinity;
      if (!leads) continue;
      if (first === 0 || since < (sinceMs[first] ?? Infinity)) [first, second] = [id, first];
      else if (second === 0 || since < (sinceMs[second] ?? Infinity)) second = id;
    }
    if (second === 0 || view.nowMs - (sinceMs[second] ?? Infinity) <= view.delayMaxMs + GRACE_MS) return undefined;
    return `${Math.min(first, second)} and ${Math.max(first, second)} have both led since ${(sinceMs[second] ?? Infinity).toFixed(3)} ms: split brain`;
  },
};
