// The disk of a ZAB peer: acceptedEpoch ≥ currentEpoch, and neither ever falls, in spite of any crash. The epochs that it tells others are on disk: the acceptance of an epoch before ACKEPOCH leaves, or
// NEWEPOCH, and the history before ACKLEADER. And an epoch is accepted for one leader only, in one life: a later life does not know for which leader, and counts for none in it. Zab, section IV;
// ZooKeeper's acceptedEpoch and currentEpoch files.
import type { NodeId } from "../../../../protocols/node.ts";
import type { ZabImage } from "../../../../protocols/zab/state.ts";
import { perMember } from "../../invariants/memory.ts";
import type { ZabInvariant, ZabMember, ZabView } from "./types.ts";

interface Memory {
  readonly accepted: number[];
  readonly current: number[];
  /** Member → the epoch that it last accepted, and the leader. */
  readonly promised: ({ readonly epoch: number; readonly to: NodeId } | undefined)[];
  /** Member → the epoch that earlier lives had accepted; this life cannot know for which leader. */
  readonly inherited: number[];
}

const NOTHING: ZabImage = { acceptedEpoch: 0, currentEpoch: 0, zxid: 0 };

export const zabEpochs: ZabInvariant<Memory> = {
  name: "zab-epochs",
  remember: (nodes) => ({
    accepted: perMember(nodes, () => 0),
    current: perMember(nodes, () => 0),
    promised: perMember(nodes, () => undefined),
    inherited: perMember(nodes, () => 0),
  }),
  started(memory, view, member) {
    if (member.life > 1) memory.inherited[member.id] = imageOf(member).acceptedEpoch;
    return look(memory, view, member);
  },
  after: look,
  sent({ promised, inherited }, view, from, to, said) {
    if (said.type === "ACKLEADER")
      return lacks(view, from, "currentEpoch", said.epoch) ?? isPast(view, from, said.epoch);
    if (said.type === "NEWEPOCH") return lacks(view, from, "acceptedEpoch", said.epoch);
    if (said.type !== "ACKEPOCH") return undefined;
    if (said.counts && said.epoch <= (inherited[from] ?? 0))
      return `${from} counts for ${to} in epoch ${said.epoch}, which an earlier life had accepted`;
    const before = promised[from];
    if (said.counts) promised[from] = { epoch: said.epoch, to };
    return said.counts && before?.epoch === said.epoch && before.to !== to
      ? `${from} accepts epoch ${said.epoch} for ${to}, and had accepted it for ${before.to}`
      : (lacks(view, from, "acceptedEpoch", said.epoch) ?? isPast(view, from, said.epoch));
  },
};

function imageOf({ disk }: ZabMember): ZabImage {
  return disk.image ?? NOTHING;
}

function look({ accepted, current }: Memory, _view: ZabView, member: ZabMember): string | undefined {
  const { id } = member;
  const { acceptedEpoch, currentEpoch } = imageOf(member);
  const [before, was] = [accepted[id] ?? 0, current[id] ?? 0];
  accepted[id] = acceptedEpoch;
  current[id] = currentEpoch;
  if (acceptedEpoch < before) return `${id} had accepted epoch ${before}, and its disk says ${acceptedEpoch}`;
  if (currentEpoch < was) return `${id} was in epoch ${was}, and its disk says ${currentEpoch}`;
  return currentEpoch > acceptedEpoch
    ? `${id} is in epoch ${currentEpoch} and has accepted only ${acceptedEpoch}`
    : undefined;
}

function lacks(view: ZabView, from: NodeId, what: "acceptedEpoch" | "currentEpoch", epoch: number): string | undefined {
  const image = imageOf(view.member(from));
  return image[what] < epoch ? `${from} says that its ${what} is ${epoch}; its disk says ${image[what]}` : undefined;
}

/** A peer that has accepted an epoch is done with all before it. */
function isPast(view: ZabView, from: NodeId, epoch: number): string | undefined {
  const { acceptedEpoch } = imageOf(view.member(from));
  return acceptedEpoch > epoch ? `${from} joins epoch ${epoch}, and has accepted ${acceptedEpoch}` : undefined;
}
