// A promise of a replica of a master lease, its epoch and its holder, is on disk before the replica tells of it. The epoch never falls, and in one epoch the replica promises to one holder only. A
// replica that asks has promised itself the lease, too. Chubby, section 2.1: a new epoch at every attempt, and stale ones are refused.
import type { NodeId } from "../../../../protocols/node.ts";
import { perMember } from "../../invariants/memory.ts";
import type { MasterLeaseInvariant, MasterLeaseMember, MasterLeaseView } from "./types.ts";

interface Memory {
  /** Member → the greatest epoch on its disk. */
  readonly epochs: number[];
  /** Member → its last grant. */
  readonly granted: ({ readonly epoch: number; readonly to: NodeId } | undefined)[];
}

export const masterLeasePledges: MasterLeaseInvariant<Memory> = {
  name: "master-lease-pledges",
  remember: (nodes) => ({
    epochs: perMember(nodes, () => 0),
    granted: perMember(nodes, () => undefined),
  }),
  after: look,
  started: look,
  sent({ granted }, view, from, to, said) {
    if (said.type !== "GRANT" && said.type !== "RENEWED" && said.type !== "ASK") return undefined;
    const holder = said.type === "ASK" ? from : to;
    const image = view.member(from).disk.image;
    const isDurable =
      image !== undefined && (image.epoch > said.epoch || (image.epoch === said.epoch && image.holder === holder));
    if (!isDurable) return `${from} says ${said.type} of epoch ${said.epoch} before its promise is on disk`;
    if (said.type !== "GRANT") return undefined;
    const before = granted[from];
    granted[from] = { epoch: said.epoch, to };
    return before?.epoch === said.epoch && before.to !== to
      ? `${from} has promised epoch ${said.epoch} to ${before.to} and to ${to}`
      : undefined;
  },
};

function look({ epochs }: Memory, _view: MasterLeaseView, { id, disk }: MasterLeaseMember): string | undefined {
  const epoch = disk.image?.epoch ?? 0;
  const before = epochs[id] ?? 0;
  epochs[id] = epoch;
  return epoch < before ? `${id} had promised in epoch ${before}, and its disk says ${epoch}` : undefined;
}
