// Whether a world of partitions has come to rest: everything is led, nothing moves, and the loads are even.
import type { PartitionWorld } from "./world.ts";

/** Shares are compared with so much room for rounding. */
const DUST = 1e-9;

export function unledAt({ judge, spec, nowMs }: PartitionWorld): readonly number[] {
  return Array.from({ length: spec.layout.count }, (_, partition) => partition).filter(
    (partition) => judge.heldBy(partition, nowMs) === undefined,
  );
}

export function isAtRest(world: PartitionWorld): boolean {
  const { store, wishes } = world;
  if (wishes.draining.size > 0 || wishes.transfers.size > 0 || unledAt(world).length > 0) return false;
  const loads = new Map(world.seen().map(({ session }) => [session.key, 0]));
  // A member that has just come is not seen yet.
  if (store.members.filter(({ isHeld }) => isHeld).length !== loads.size) return false;
  for (const { value } of store.controller.memos.values())
    for (const { owner, revokedAt } of value.entries) {
      const load = loads.get(owner?.key ?? "");
      if (owner === undefined || revokedAt !== undefined || load === undefined) return false;
      loads.set(owner.key, load + 1);
    }
  return isEven(world, loads);
}

/** Each member has its weight's share: with equal weights rounded up or down, else within one partition. */
function isEven(world: PartitionWorld, loads: ReadonlyMap<string, number>): boolean {
  const members = world.seen();
  const total = members.reduce((sum, { weight }) => sum + weight, 0);
  const isEqual = members.every(({ weight }) => weight === members[0]?.weight);
  return members.every(({ session, weight }) => {
    const share = (world.spec.layout.count * weight) / total;
    const load = loads.get(session.key) ?? 0;
    return isEqual
      ? load >= Math.floor(share + DUST) && load <= Math.ceil(share - DUST)
      : Math.abs(load - share) <= 1 + DUST;
  });
}
