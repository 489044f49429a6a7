// At no true instant do two members act as leader. This is for protocols whose leadership ends by a clock (`leads`). Gray and Cheriton, Leases; Chubby, section 2.7.
import type { Invariant } from "./invariant.ts";

export const exclusiveLeader: Invariant = {
  name: "exclusive-leader",
  remember: () => ({}),
  after(_memory, view) {
    const leaders = view.members.filter((member) => member.leads());
    return leaders.length > 1 ? `${leaders.map(({ id }) => id).join(" and ")} lead at once` : undefined;
  },
};
