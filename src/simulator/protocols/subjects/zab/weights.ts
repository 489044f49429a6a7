// Tells whether some members have more than half of all weight. This is the judge's own count, so that a protocol that counts wrongly is not judged by its own error.
import type { NodeId } from "../../../../protocols/node.ts";

export function isMajorityByWeight(weights: ReadonlyMap<NodeId, number>, ids: Iterable<NodeId>): boolean {
  let [all, some] = [0, 0];
  for (const weight of weights.values()) all += weight;
  for (const id of new Set(ids)) some += weights.get(id) ?? 0;
  return some * 2 > all;
}
