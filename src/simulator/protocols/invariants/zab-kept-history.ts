// The history that an epoch has established is the history of every later epoch. There is no broadcast here that could make it longer, so it is the same
// number for ever. Zab, section II: agreement and total order, for the initial history of an epoch.
import type { ZabState } from "../../../protocols/zab/state.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  epoch: number;
  zxid: number;
}

export const zabKeptHistory: Invariant<Memory> = {
  name: "zab-kept-history",
  remember: () => ({ epoch: 0, zxid: 0 }),
  announced(memory, _view, { id, role, term, state }) {
    if (role !== "leader") return undefined;
    const { zxid } = state as ZabState;
    const { epoch, zxid: before } = memory;
    if (epoch !== 0 && zxid !== before)
      return `${id} leads epoch ${term} with history ${zxid}; epoch ${epoch} had established ${before}`;
    Object.assign(memory, { epoch: term, zxid });
    return undefined;
  },
};
