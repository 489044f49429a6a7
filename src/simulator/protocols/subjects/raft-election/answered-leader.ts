// A peer that a leader takes for active has answered it in its term since it last looked. Thesis, section 6.2: answers to an earlier reign, which may be slow, say nothing about this one.
import type { NodeId } from "../../../../protocols/node.ts";
import { CHECK_QUORUM } from "../../../../protocols/raft/state.ts";
import type { RaftInvariant, RaftMember } from "./types.ts";

interface Memory {
  readonly size: number;
  /** Leader and peer → the time when the peer last answered it in its term. */
  readonly answeredMs: Float64Array;
}

/** This allows for rounding: a timer of the member's clock is compared with true time. */
const GRACE_MS = 1e-3;

export const answeredLeader: RaftInvariant<Memory> = {
  name: "answered-leader",
  remember: (nodes) => ({ size: nodes + 1, answeredMs: new Float64Array((nodes + 1) ** 2).fill(-Infinity) }),
  received: {
    APPENDED(memory, view, member, from, heard) {
      const { role, term, hasCheckQuorum } = member.state;
      if (role !== "leader" || !hasCheckQuorum) return undefined;
      if (heard.term !== term) return judge(memory, member, from, heard.term);
      memory.answeredMs[member.id * memory.size + from] = view.nowMs;
      return undefined;
    },
  },
};

/** The answers that a paused leader is given when it goes on cannot be seen one by one. */
function judge({ size, answeredMs }: Memory, member: RaftMember, from: NodeId, term: number): string | undefined {
  const state = member.state;
  const lookedMs = member.dueMs(CHECK_QUORUM) - state.timeoutMinMs / member.clockRate - GRACE_MS;
  const isKnown = member.resumedMs < lookedMs && (answeredMs[member.id * size + from] ?? -Infinity) < lookedMs;
  return isKnown && state.active[from] === 1
    ? `${member.id} leads in term ${state.term}, and takes ${from} for active, who has answered in term ${term}`
    : undefined;
}
