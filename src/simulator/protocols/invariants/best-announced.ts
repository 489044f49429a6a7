// No member says that it leads while a better member is up, can be reached, and has been up since before the election began: that one would have answered. An election takes the time of an answer, which
// is two messages and the time that nodes need in between.
import type { Invariant } from "./invariant.ts";

/** A multiple of the greatest delay: a question, an answer, and as much again for disks and nodes. */
const ELECTION_DELAYS = 4;

export const bestAnnounced: Invariant = {
  name: "best-announced",
  remember: () => ({}),
  announced(_memory, view, { id, role, startedMs }) {
    if (role !== "leader") return undefined;
    const begunMs = view.nowMs - ELECTION_DELAYS * view.delayMaxMs;
    for (const other of view.members) {
      if (!other.isUp || other.isPaused || other.startedMs > begunMs || startedMs > begunMs) continue;
      const isBetter = view.attributeOf(other.id) > view.attributeOf(id);
      if (isBetter && view.reaches(id, other.id) && view.reaches(other.id, id))
        return `${id} leads, although ${other.id} is up and would have answered`;
    }
    return undefined;
  },
};
