// A member that has heard its leader within the least election timeout grants nobody a pre-vote, and with CheckQuorum no vote in a newer term, unless the leader wants it so. Thesis, sections 4.2.3 and
// 9.6: this keeps a member that cannot hear the leader from deposing it. A member that has not heard its leader for that long, or whose leader wants it so, takes over the newer term.
import { NOBODY, type NodeId } from "../../../../protocols/node.ts";
import { NODES_MAX } from "../../spec.ts";
import { forgetOldest, perMember } from "../../invariants/memory.ts";
import type { RaftInvariant, RaftMember } from "./types.ts";

interface Memory {
  /** Member → the leader that it followed after its last event, the term, and the time when it had last heard that leader. */
  readonly leaders: NodeId[];
  readonly terms: number[];
  readonly heardAtMs: number[];
  /** Term and candidate of campaigns that a leader asked for. */
  readonly transfers: Set<number>;
}

const TRANSFERS_MAX = 1024;

export const loyalFollowers: RaftInvariant<Memory> = {
  name: "loyal-followers",
  remember: (nodes) => ({
    leaders: perMember(nodes, () => NOBODY),
    terms: perMember(nodes, () => 0),
    heardAtMs: perMember(nodes, () => 0),
    transfers: new Set(),
  }),
  sent(memory, view, from, to, sent) {
    if (sent.type === "VOTE" && sent.isTransfer) noteTransfer(memory, sent.term * NODES_MAX + from);
    if ((sent.type !== "VOTED" && sent.type !== "PRE-VOTED") || !sent.isGranted) return undefined;
    const member = view.member(from);
    if (sent.term <= (memory.terms[from] ?? 0) || !isLed(memory, member)) return undefined;
    const isAllowed =
      sent.type === "VOTED" && (!member.state.hasCheckQuorum || memory.transfers.has(sent.term * NODES_MAX + to));
    return isAllowed
      ? undefined
      : `${from} hears its leader ${memory.leaders[from]}, and grants ${to} ${sent.type} in term ${sent.term}`;
  },
  received: {
    VOTE(memory, _view, member, from, asked) {
      const { term, hasCheckQuorum } = member.state;
      const mayIgnore = hasCheckQuorum && !asked.isTransfer && isLed(memory, member);
      return asked.term <= term || mayIgnore
        ? undefined
        : `${member.id} ignores that ${from} asks for its vote in term ${asked.term}, and has no leader to be loyal to`;
    },
  },
  after: look,
  started: look,
};

function isLed({ leaders, heardAtMs }: Memory, member: RaftMember): boolean {
  const { id } = member;
  if (leaders[id] === id) return true;
  const { timeoutMinMs } = member.state;
  return leaders[id] !== NOBODY && member.now() - (heardAtMs[id] ?? 0) < timeoutMinMs;
}

/** The acts of a paused member until it answers are not known before it does. */
function look({ leaders, terms, heardAtMs }: Memory, _view: unknown, { id, state, isPaused }: RaftMember): undefined {
  leaders[id] = isPaused ? NOBODY : state.leader;
  terms[id] = state.term;
  heardAtMs[id] = state.heardAtMs;
}

function noteTransfer({ transfers }: Memory, key: number): void {
  transfers.add(key);
  forgetOldest(transfers, TRANSFERS_MAX);
}
