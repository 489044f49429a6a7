// An answer proves the request that it answers, and no later one: a master dates a replica's proof at the send of the RENEW that was answered, or of one that was answered before. Gray and Cheriton 1989.
// If the proof were dated later, a lease would overlap with the next master's only when much else is slow.
import { perMember } from "../../invariants/memory.ts";
import type { MasterLeaseInvariant, MasterLeaseView } from "./types.ts";

/** The renewals that a master has sent in its present epoch, on its clock, and those that were answered. */
interface Renewals {
  readonly epoch: number;
  /** The true time of the first renewal. */
  readonly sinceMs: number;
  /** The last renewal that was sent. */
  sequence: number;
  /** Sequence, modulo the length → the time when it was sent. */
  readonly sentAt: Float64Array;
  /** Replica → the latest send that it has answered. */
  readonly provenAt: Float64Array;
}

interface Memory {
  readonly renewals: (Renewals | undefined)[];
}

const SENDS_KEPT = 64;
/** This allows for rounding. */
const GRACE_MS = 1e-3;

export const masterLeaseProofs: MasterLeaseInvariant<Memory> = {
  name: "master-lease-proofs",
  remember: (nodes) => ({ renewals: perMember(nodes, () => undefined) }),
  sent({ renewals }, view, from, _to, message) {
    if (message.type !== "RENEW") return undefined;
    const { epoch, sequence } = message;
    const before = renewals[from];
    if (before?.epoch === epoch && before.sequence === sequence) return undefined;
    const renewal = before?.epoch === epoch ? before : begin(epoch, view);
    renewals[from] = renewal;
    renewal.sequence = sequence;
    renewal.sentAt[sequence % SENDS_KEPT] = view.member(from).now();
    return undefined;
  },
  received: {
    RENEWED({ renewals }, _view, { id, state, resumedMs }, from, message) {
      const { epoch, sequence } = message;
      const [renewal, { tenure }] = [renewals[id], state];
      // The answers that a paused master is given when it goes on cannot be seen one by one.
      if (renewal?.epoch !== epoch || tenure?.epoch !== epoch || resumedMs >= renewal.sinceMs) return undefined;
      if (sequence <= renewal.sequence - SENDS_KEPT) return undefined;
      const provenAt = Math.max(renewal.provenAt[from] ?? -Infinity, renewal.sentAt[sequence % SENDS_KEPT] ?? 0);
      renewal.provenAt[from] = provenAt;
      const keptAt = tenure.keptAt[from] ?? -Infinity;
      return keptAt > provenAt + GRACE_MS
        ? `${id} takes it that ${from} has promised at ${keptAt.toFixed(3)}, and ${from} has answered what was sent at ${provenAt.toFixed(3)}`
        : undefined;
    },
  },
};

function begin(epoch: number, { nowMs, nodes }: MasterLeaseView): Renewals {
  const provenAt = new Float64Array(nodes + 1).fill(-Infinity);
  return { epoch, sinceMs: nowMs, sequence: 0, sentAt: new Float64Array(SENDS_KEPT), provenAt };
}
