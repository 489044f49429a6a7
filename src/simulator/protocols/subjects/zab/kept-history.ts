// The history that an epoch has established is the history of every later epoch. There is no broadcast here that could make it longer, so it is the same
// number for ever. And a peer whose disk says that it is in an epoch has that epoch's history there, or already that of the later epoch which it has
// accepted. Zab, section II: agreement and total order, for the initial history of an epoch; EuroSys 2025 on what happens when currentEpoch is on disk first.
import { forgetOldest } from "../../invariants/memory.ts";
import type { ZabInvariant, ZabMember, ZabView } from "./types.ts";

interface Memory {
  epoch: number;
  zxid: number;
  /** Epoch → the history that its leader gave out. */
  readonly given: Map<number, number>;
}

const EPOCHS_MAX = 1024;

export const zabKeptHistory: ZabInvariant<Memory> = {
  name: "zab-kept-history",
  remember: () => ({ epoch: 0, zxid: 0, given: new Map() }),
  sent({ given }, _view, _from, _to, said) {
    if (said.type !== "NEWLEADER" || given.has(said.epoch)) return undefined;
    given.set(said.epoch, said.zxid);
    forgetOldest(given, EPOCHS_MAX);
    return undefined;
  },
  announced(memory, _view, { id, role, term, state }) {
    if (role !== "leader") return undefined;
    const { zxid } = state;
    const { epoch, zxid: before } = memory;
    if (epoch !== 0 && zxid !== before)
      return `${id} leads epoch ${term} with history ${zxid}; epoch ${epoch} had established ${before}`;
    Object.assign(memory, { epoch: term, zxid });
    return undefined;
  },
  after: look,
  started: look,
};

function look({ given }: Memory, _view: ZabView, { id, disk }: ZabMember): string | undefined {
  const image = disk.image;
  if (image === undefined) return undefined;
  const zxid = given.get(image.currentEpoch);
  const isSo = zxid === undefined || image.zxid === zxid || image.zxid === given.get(image.acceptedEpoch);
  return isSo
    ? undefined
    : `${id} has on disk that it is in epoch ${image.currentEpoch}, with history ${image.zxid}; that of the epoch is ${zxid}`;
}
