// Two members lead at once for no longer than the news of the new one takes to reach the old one. That is all that an algorithm without terms, quorums
// or leases can promise (Garcia-Molina 1982 says "eventually"), and only while its assumptions hold: a partition breaks it, which is called split brain.
import type { Invariant } from "./invariant.ts";

interface Memory {
  /** Since when two lead; Infinity: they do not. */
  sinceMs: number;
}

/** A message is handled when it arrives; this is for rounding. */
const GRACE_MS = 1;

export const oneLeader: Invariant<Memory> = {
  name: "one-leader",
  remember: () => ({ sinceMs: Infinity }),
  after(memory, view) {
    let leaders = 0;
    for (const { isUp, isPaused, role } of view.members) if (isUp && !isPaused && role === "leader") leaders++;
    if (leaders < 2) memory.sinceMs = Infinity;
    else if (memory.sinceMs === Infinity) memory.sinceMs = view.nowMs;
    if (view.nowMs - memory.sinceMs <= view.delayMaxMs + GRACE_MS) return undefined;
    const names = view.members
      .filter(({ isUp, isPaused, role }) => isUp && !isPaused && role === "leader")
      .map(({ id }) => id);
    return `${names.join(" and ")} have both led since ${memory.sinceMs.toFixed(3)} ms: split brain`;
  },
};
