// Partitions: the directions of links that are cut. They have a name, with members drawn from the seed, as in Jepsen's nemesis; or they are written out.
//
//   one              one member sees nobody
//   majority         a majority on one side, the rest on the other
//   minority-third   fewer than a third are cut off
//   majorities-ring  every member sees a majority, and no two the same one
//   bridge           two halves, and one member that sees both
//   primaries        each member that believes to lead is cut off from all others
//   random-halves    two halves
//   1,2/3,4,5        written out; a member of two groups sees both, a member of none sees everybody
//   1>2              one way: what 1 sends to 2 is lost
import { createRng, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import type { NodeId } from "../../protocols/node.ts";

/** Partitions that have a name. */
export const PARTITION_NAMES = [
  "one",
  "majority",
  "minority-third",
  "majorities-ring",
  "bridge",
  "primaries",
  "random-halves",
] as const;
export type PartitionName = (typeof PARTITION_NAMES)[number];

export interface Direction {
  readonly from: NodeId;
  readonly to: NodeId;
}

type Groups = readonly (readonly NodeId[])[];

/** `leaders`: the members that believe that they lead, for `primaries`. */
export function cutsOf(text: string, nodes: number, leaders: readonly NodeId[], rng: Rng): readonly Direction[] {
  const name = PARTITION_NAMES.find((known) => known === text);
  if (name !== undefined) return cutsByName(name, nodes, leaders, rng);
  const oneWay = /^(\d+)>(\d+)$/.exec(text);
  if (oneWay !== null) return [{ from: checkId(oneWay[1] ?? "", nodes), to: checkId(oneWay[2] ?? "", nodes) }];
  const groups = text.split("/").map((group) => group.split(",").map((id) => checkId(id, nodes)));
  if (groups.length < 2) throw new RangeError(`partition ${text}: two sides at least, as in 1,2/3,4,5`);
  return between(groups, nodes);
}

/** Throws a RangeError for a text that is no partition of 1…N. */
export function checkPartition(text: string, nodes: number): void {
  cutsOf(text, nodes, [], createRng(0, 0));
}

function checkId(text: string, nodes: number): NodeId {
  const id = Number(text);
  if (!/^\d+$/.test(text) || id > nodes)
    throw new RangeError(
      `partition: ${JSON.stringify(text)} is no member of 1…${nodes}. Write 1,2/3,4,5 or 1>2 or one of ${PARTITION_NAMES.join(", ")}.`,
    );
  return id;
}

function cutsByName(name: PartitionName, nodes: number, leaders: readonly NodeId[], rng: Rng): readonly Direction[] {
  const members = shuffled(nodes, rng);
  const majority = (nodes >> 1) + 1;
  const split = (size: number): readonly Direction[] => between([members.slice(0, size), members.slice(size)], nodes);
  switch (name) {
    case "one":
      return split(1);
    case "majority":
      return split(majority);
    case "minority-third":
      return split(Math.max(1, Math.floor((nodes - 1) / 3)));
    case "majorities-ring":
      return around(members, Math.ceil((majority - 1) / 2));
    case "bridge": {
      const [bridge = 1, ...others] = members;
      const half = others.length >> 1;
      return between(
        [
          [bridge, ...others.slice(0, half)],
          [bridge, ...others.slice(half)],
        ],
        nodes,
      );
    }
    case "primaries": {
      const alone = leaders.length > 0 ? leaders : [nextOf(rng, members)];
      return between([...alone.map((id) => [id]), members.filter((id) => !alone.includes(id))], nodes);
    }
    case "random-halves":
      return split(nodes >> 1);
  }
}

/** Cuts both directions between every two members that are named and share no group. */
function between(groups: Groups, nodes: number): readonly Direction[] {
  const cuts: Direction[] = [];
  const groupsOf = (id: NodeId): Groups => groups.filter((group) => group.includes(id));
  for (let from = 0; from <= nodes; from++)
    for (let to = 0; to <= nodes; to++) {
      const [mine, theirs] = [groupsOf(from), groupsOf(to)];
      if (mine.length > 0 && theirs.length > 0 && !mine.some((group) => theirs.includes(group)))
        cuts.push({ from, to });
    }
  return cuts;
}

/** Members sit in a circle; each sees those within `reach` seats. */
function around(members: readonly NodeId[], reach: number): readonly Direction[] {
  const cuts: Direction[] = [];
  members.forEach((from, seat) =>
    members.forEach((to, other) => {
      const apart = Math.min(
        (seat - other + members.length) % members.length,
        (other - seat + members.length) % members.length,
      );
      if (apart > reach) cuts.push({ from, to });
    }),
  );
  return cuts;
}

export function shuffled(nodes: number, rng: Rng): readonly NodeId[] {
  const members = Array.from({ length: nodes }, (_, index) => index + 1);
  for (let last = members.length - 1; last > 0; last--) {
    const other = nextInteger(rng, 0, last);
    [members[last], members[other]] = [members[other] as NodeId, members[last] as NodeId];
  }
  return members;
}
