// Checks whether a spec that somebody wrote can be a world: numbers of members that exist, a ring that is one, settings that fit each other. A RangeError says what is wrong. Specs that are drawn or
// computed need no such check.
import type { NodeId } from "../../protocols/node.ts";
import type { ProtocolSpec } from "./spec.ts";
import { subjectNamed } from "./subjects/index.ts";

const NODES_WRITTEN_MAX = 1000;

/** Returns the spec as it is; throws a RangeError that says what is wrong in it. */
export function checkSpec(spec: ProtocolSpec): ProtocolSpec {
  const { nodes, seed, leader, down, ring, settings } = spec;
  checkNodes(nodes);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`seed ${seed}: a whole number is needed`);
  if (leader !== 0) checkIds("leader", [leader], nodes);
  checkIds("down", down, nodes);
  if (new Set(checkIds("ring", ring, nodes)).size !== nodes || ring.length !== nodes)
    throw new RangeError(`ring ${ring.join(",")}: each of 1…${nodes} once`);
  const problem = subjectNamed(spec.protocol).node.problemWith?.(settings, nodes);
  if (problem !== undefined) throw new RangeError(`${spec.protocol}: ${problem}`);
  return spec;
}

/** This is checked first, because the size of the rest depends on it. */
export function checkNodes(nodes: number): number {
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > NODES_WRITTEN_MAX)
    throw new RangeError(`nodes ${nodes}: a whole number from 1 to ${NODES_WRITTEN_MAX} is needed`);
  return nodes;
}

/** Returns the ids as they are; throws a RangeError if one of them is no member. */
export function checkIds(what: string, ids: readonly NodeId[], nodes: number): readonly NodeId[] {
  const wrong = ids.find((id) => !(id >= 1 && id <= nodes));
  if (wrong !== undefined) throw new RangeError(`${what}: there is no member ${wrong}; members are 1…${nodes}`);
  return ids;
}
