// Elsewhere: a member that was cut off stood for election again and again, came back with a term far ahead of all, and deposed a leader that had
// done nothing wrong (Raft thesis, section 9.6).
// Here: PreVote. A node that cannot win does not begin a term, so it comes back in the term in which it left.
// Taken out: test/defences/term-inflation.patch
import { expect, it } from "vitest";
import { ProtocolWorld, specOf } from "conclave/simulator";

it("term-inflation: a member that was cut off for a minute comes back without deposing anybody", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = new ProtocolWorld(specOf("raft-election", { nodes: 5, seed, leader: 1 }));
    world.runTo(1000);
    world.apply({ type: "partition", how: "5/1,2,3,4" });
    world.runTo(61_000);
    expect(world.member(5).leader).toBe(0);
    world.apply({ type: "heal" });
    world.runTo(65_000);
    expect(world.agreedLeader()).toBe(1);
    expect(world.members.map((member) => member.term)).toEqual([0, 0, 0, 0, 0]);
  }
});
