// snapshot ≤ applied ≤ committed ≤ last, none of the first three falls in one life, and the machine has been given exactly the entries that the node says are applied. Raft, figure 2 (commitIndex and
// lastApplied increase monotonically).
import type { LogBounds } from "../../../../protocols/log-node.ts";
import type { Invariant } from "../invariant.ts";
import { perMember } from "../memory.ts";

interface Memory {
  readonly before: (LogBounds | undefined)[];
  readonly lives: number[];
}

export const logBounds: Invariant<Memory> = {
  name: "log-bounds",
  remember: (nodes) => ({ before: perMember(nodes, () => undefined), lives: perMember(nodes, () => 0) }),
  after({ before, lives }, _view, { id, life, log }) {
    if (log === undefined) return undefined;
    const bounds = log.bounds();
    const { snapshot, applied, committed, last } = bounds;
    const was = lives[id] === life ? before[id] : undefined;
    before[id] = bounds;
    lives[id] = life;
    if (!(snapshot <= applied && applied <= committed && committed <= last))
      return `${id}: snapshot ${snapshot} ≤ applied ${applied} ≤ committed ${committed} ≤ last ${last} is not so`;
    if (applied !== log.applied) return `${id} says that ${applied} is applied; its machine was given ${log.applied}`;
    if (was === undefined) return undefined;
    return snapshot < was.snapshot || applied < was.applied || committed < was.committed
      ? `${id} had ${JSON.stringify(was)} and has ${JSON.stringify(bounds)}`
      : undefined;
  },
};
