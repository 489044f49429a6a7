// A read is answered only when a majority of the voters, the member that answers included, has answered a message that this member sent after the read was asked. Raft, section 8: otherwise a leader that has been
// replaced, and does not know it, would answer from an old state.
//
// This is for any log whose leader confirms reads by rounds of messages. Only the subject knows which messages and answers those are: its invariant is this one, with `sent` and `received` that tell
// `noteSent` and `noteAnswered` of each.
import type { NodeId } from "../../../../protocols/node.ts";
import type { Invariant } from "../invariant.ts";
import { forgetOldest, perMember } from "../memory.ts";

/** The event in which a read was asked, and its time. */
interface AskedRead {
  readonly event: number;
  readonly atMs: number;
}

export interface ConfirmedReadsMemory {
  /** Sender, receiver and round → the event in which the round was sent first. */
  readonly sent: Map<string, number>;
  /** Member → peer → the event of the latest message of the member that the peer has answered. */
  readonly answered: number[][];
  /** Member → request of its present life. */
  readonly asked: Map<number, AskedRead>[];
  /** The requests that were answered in the present event, which is judged when it is over. */
  readonly due: number[];
}

const ROUNDS_MAX = 4096;

export const confirmedReads: Invariant<ConfirmedReadsMemory> = {
  name: "confirmed-reads",
  remember: (nodes) => ({
    sent: new Map(),
    answered: perMember(nodes, () => perMember(nodes, () => -1)),
    asked: perMember(nodes, () => new Map<number, AskedRead>()),
    due: [],
  }),
  started({ asked, answered }, _view, { id }) {
    asked[id]?.clear();
    answered[id]?.fill(-1);
    return undefined;
  },
  hosted({ asked, due }, { events, nowMs }, { id }, event) {
    if (event.type === "read") asked[id]?.set(event.request, { event: events, atMs: nowMs });
    if (event.type === "answered") due.push(event.request);
    return undefined;
  },
  after({ answered, asked, due }, _view, { id, resumedMs, log }) {
    for (const request of due.splice(0)) {
      const read = asked[id]?.get(request);
      asked[id]?.delete(request);
      // The inputs that a paused leader is given when it goes on cannot be seen one by one.
      if (read === undefined || resumedMs >= read.atMs) continue;
      const voters = log?.members().voters ?? [];
      const confirmed = voters.filter((peer) => peer === id || (answered[id]?.[peer] ?? -1) >= read.event).length;
      if (confirmed * 2 <= voters.length)
        return `${id} answers read #${request}, which ${confirmed} of ${voters.length} have confirmed`;
    }
    return undefined;
  },
};

/** `from` sends a message of `round`, which only its answers name again. */
export function noteSent({ sent }: ConfirmedReadsMemory, event: number, from: NodeId, to: NodeId, round: string): void {
  const key = keyOf(from, to, round);
  if (sent.has(key)) return;
  sent.set(key, event);
  forgetOldest(sent, ROUNDS_MAX);
}

/** `leader` is given the answer of `peer` to that round. */
export function noteAnswered(memory: ConfirmedReadsMemory, leader: NodeId, peer: NodeId, round: string): void {
  const answered = memory.answered[leader] ?? [];
  answered[peer] = Math.max(answered[peer] ?? -1, memory.sent.get(keyOf(leader, peer, round)) ?? -1);
}

function keyOf(from: NodeId, to: NodeId, round: string): string {
  return `${from}/${to}/${round}`;
}
