// A read is answered only when a majority, the leader included, has answered a message that was sent after the read was asked. Raft, section 8: else a leader that has
// been replaced, and does not know it, would answer from an old state. The toy's leader is never replaced; the rule is judged all the same.
import type { NodeId } from "../../../../protocols/node.ts";
import { forgetOldest, perMember } from "../../invariants/memory.ts";
import type { ToyInvariant } from "./types.ts";

interface Memory {
  /** `term/round/peer` → in which event the leader first sent it. */
  readonly sent: Map<string, number>;
  /** Member → the event of the latest such message that it has answered. */
  readonly answered: number[];
  /** Request of this life of the leader → in which event, and when, it was asked. */
  readonly asked: Map<number, { readonly event: number; readonly atMs: number }>;
  /** Those that were answered in the present event, which is judged when it is over. */
  readonly due: number[];
}

const ROUNDS_MAX = 4096;

export const confirmedReads: ToyInvariant<Memory> = {
  name: "confirmed-reads",
  remember: (nodes) => ({ sent: new Map(), answered: perMember(nodes, () => -1), asked: new Map(), due: [] }),
  started({ asked, answered }, _view, { id, state }) {
    if (id !== state.leader) return undefined;
    asked.clear();
    answered.fill(-1);
    return undefined;
  },
  sent({ sent }, { events }, _from, to, message) {
    if (message.type === "APPENDED") return undefined;
    const key = keyOf(message, to);
    if (sent.has(key)) return undefined;
    sent.set(key, events);
    forgetOldest(sent, ROUNDS_MAX);
    return undefined;
  },
  received: {
    APPENDED({ sent, answered }, _view, _member, from, message) {
      answered[from] = Math.max(answered[from] ?? -1, sent.get(keyOf(message, from)) ?? -1);
      return undefined;
    },
  },
  hosted({ asked, due }, { events, nowMs }, { id, state }, event) {
    // Others let nobody read; fresh-reads.ts would notice.
    if (id !== state.leader) return undefined;
    if (event.type === "read") asked.set(event.request, { event: events, atMs: nowMs });
    if (event.type === "answered") due.push(event.request);
    return undefined;
  },
  after({ answered, asked, due }, view, { id, resumedMs }) {
    for (const request of due.splice(0)) {
      const read = asked.get(request);
      asked.delete(request);
      // What a paused leader is given when it goes on cannot be seen one by one.
      if (read === undefined || resumedMs >= read.atMs) continue;
      const confirmed = answered.filter((at, peer) => peer === id || at >= read.event).length;
      if (confirmed * 2 <= view.nodes)
        return `${id} answers read #${request}, which ${confirmed} of ${view.nodes} have confirmed`;
    }
    return undefined;
  },
};

function keyOf({ term, round }: { readonly term: number; readonly round: number }, peer: NodeId): string {
  return `${term}/${round}/${peer}`;
}
