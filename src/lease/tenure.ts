// Maximum tenure: a term that has been led for `maxTenureMs` is given up, as if somebody had asked for it (asked.ts): the signal aborts, the work drains, and the
// store is told when the work has settled (law 8). Then the campaign stands again, behind those who wait (line) or after a pause (race, `yieldMs`).
//
// It is given up whether anybody waits or not. In a race a leader cannot know whether somebody waits, and in a line it sees only those before it. A leader
// without rivals leads again after the pause, with a new token.
//
// The time counts from the moment at which the term was announced, on the monotonic hand: a host that slept for long has lost the term anyway. Nothing of
// exclusion rests on it. A term ends earlier than its lease and never later, and it ends by a transition that `resign` has too. So a clock that is wrong, or a loop that is blocked,
// only makes a tenure shorter or longer.
// A lock (`brief`) has no tenure: its work is one piece, and ends by itself.
//
// INVARIANT  of every leading campaign that is not brief: electedAt + maxTenureMs ≥ tenureDueAt. So one comparison tells whether there is anything to do.
import type { Reading } from "../base/clock.ts";
import { becomeEnding, isIn, tenureEndsAt } from "./campaign.ts";
import type { Effect, Machine } from "./state.ts";

/** Whether a term has had its time, and the books do not show it yet. */
export function isTenureDue(machine: Machine, now: Reading): boolean {
  return now.mono >= machine.tenureDueAt;
}

/** Ends what has had its time, and notes when the next one will have. */
export function endTenures(machine: Machine, now: Reading, effects: Effect[]): void {
  if (!isTenureDue(machine, now)) return;
  machine.tenureDueAt = Infinity;
  for (const campaign of machine.campaigns.values()) {
    const endsAt = tenureEndsAt(machine, campaign);
    if (now.mono < endsAt) machine.tenureDueAt = Math.min(machine.tenureDueAt, endsAt);
    else if (isIn(campaign, "leading")) becomeEnding(campaign, "tenure", effects);
  }
}
