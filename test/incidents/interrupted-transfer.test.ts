// Elsewhere: a leader was deposed in the middle of handing over; the mark of the transfer stayed, and when it was elected again it refused every proposal,
// for ever (hashicorp/raft 696).
// Here: what belongs to a role or a term ends with it, in one place.
// Taken out: test/defences/interrupted-transfer.patch
import { expect, it } from "vitest";
import { type RaftState, takesProposals } from "conclave/protocols";
import { ProtocolWorld, specOf } from "conclave/simulator";

it("interrupted-transfer: a leader that was deposed while it handed over takes proposals when it leads again", () => {
  const settings = { preVote: false, checkQuorum: false };
  const world = new ProtocolWorld(specOf("raft-election", { nodes: 5, leader: 1, settings }));
  const isOpen = (): boolean => takesProposals(world.member(1).state as RaftState);
  world.runTo(500);
  expect(isOpen()).toBe(true);
  world.apply({ type: "cut", from: 1, to: 2 });
  world.apply({ type: "tell", node: 1, command: "transfer", argument: 2 });
  expect(isOpen()).toBe(false);
  world.apply({ type: "tell", node: 3, command: "campaign", argument: 0 });
  world.runTo(540);
  expect(world.leaders()).toEqual([3]);
  world.apply({ type: "heal" });
  world.runTo(560);
  world.apply({ type: "tell", node: 1, command: "campaign", argument: 0 });
  world.runTo(640);
  expect(world.agreedLeader()).toBe(1);
  expect(isOpen()).toBe(true);
  world.runTo(5000);
  expect(world.agreedLeader()).toBe(1);
  expect(isOpen()).toBe(true);
});
