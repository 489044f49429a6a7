// Whether a world of partitions has come to rest: everything is led, nothing moves, and the loads are even.
import type { PartitionWorld } from "./world.ts";

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
  const counts = [...loads.values()];
  return Math.max(...counts) - Math.min(...counts) <= 1;
}
