// What a ZAB peer has on disk: acceptedEpoch ≥ currentEpoch, and neither ever falls, whatever crashes. And what it tells a leader of them is on disk: the
// acceptance of an epoch before ACKEPOCH leaves, the history before ACKLEADER. Zab, section IV; ZooKeeper's acceptedEpoch and currentEpoch files.
import type { NodeId } from "../../../protocols/protocol.ts";
import type { ZabImage, ZabMessage } from "../../../protocols/zab/state.ts";
import type { Member } from "../member.ts";
import type { Invariant, View } from "./invariant.ts";

interface Memory {
  readonly accepted: number[];
  readonly current: number[];
}

const NOTHING: ZabImage = { acceptedEpoch: 0, currentEpoch: 0, zxid: 0 };

export const zabEpochs: Invariant<Memory> = {
  name: "zab-epochs",
  remember: (nodes) => ({
    accepted: Array.from({ length: nodes + 1 }, () => 0),
    current: Array.from({ length: nodes + 1 }, () => 0),
  }),
  started: look,
  after: look,
  sent(_memory, view, from, _to, message) {
    const said = message as ZabMessage;
    if (said.type === "ACKEPOCH") return lacks(view, from, "acceptedEpoch", said.epoch);
    return said.type === "ACKLEADER" ? lacks(view, from, "currentEpoch", said.epoch) : undefined;
  },
};

function look({ accepted, current }: Memory, _view: View, { id, disk }: Member): string | undefined {
  const { acceptedEpoch, currentEpoch } = (disk.image as ZabImage | undefined) ?? NOTHING;
  const [before, was] = [accepted[id] as number, current[id] as number];
  accepted[id] = acceptedEpoch;
  current[id] = currentEpoch;
  if (acceptedEpoch < before) return `${id} had accepted epoch ${before}, and its disk says ${acceptedEpoch}`;
  if (currentEpoch < was) return `${id} was in epoch ${was}, and its disk says ${currentEpoch}`;
  return currentEpoch > acceptedEpoch
    ? `${id} is in epoch ${currentEpoch} and has accepted only ${acceptedEpoch}`
    : undefined;
}

function lacks(view: View, from: NodeId, what: "acceptedEpoch" | "currentEpoch", epoch: number): string | undefined {
  const image = (view.member(from).disk.image as ZabImage | undefined) ?? NOTHING;
  return image[what] < epoch ? `${from} says that its ${what} is ${epoch}; its disk says ${image[what]}` : undefined;
}
