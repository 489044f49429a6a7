// Elsewhere: a switch failed in part, so that two of three etcd members did not hear each other while the third heard both; leaders followed each other for
// six and a half hours (Cloudflare, 2 November 2020). And PreVote alone waits for ever for a leader that has lost its majority (Howard and Abraham 2020;
// OmniPaxos 2023).
// Here: a node that hears its leader helps nobody else, and a leader that no majority answers steps down.
// Taken out: test/defences/partial-partition.patch
import { expect, it } from "vitest";
import { ProtocolWorld, specOf } from "conclave/simulator";

function afterMinute(nodes: number, leader: number, cuts: readonly string[], seed: number): ProtocolWorld {
  const world = new ProtocolWorld(specOf("raft-election", { nodes, seed, leader }));
  world.runTo(1000);
  for (const how of cuts) world.apply({ type: "partition", how });
  world.runTo(61_000);
  return world;
}

it("partial-partition: a leader whom a majority hears stays, though one member hears only the others", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = afterMinute(3, 3, ["1/3"], seed);
    expect(world.leaders()).toEqual([3]);
    expect(world.members.map((member) => member.term)).toEqual([0, 0, 0]);
  }
});

it("partial-partition: a leader that has lost its majority makes room for the one member that has one", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = afterMinute(5, 3, ["2/3/4/5"], seed);
    expect(world.leaders()).toEqual([1]);
    expect(world.member(1).term).toBe(1);
  }
});
