// Raft's election, rule by rule: a leader hands over.
import { describe, expect, it } from "vitest";
import { takesProposals } from "conclave/protocols";
import { ProtocolWorld, specOf } from "conclave/simulator";
import { append, candidate, follower, leader, sends, vote } from "./raft-node.ts";

describe("a transfer (thesis, section 3.10)", () => {
  const settings = { preVote: true, checkQuorum: true };

  it("tells its target, which stands at once, without pre-votes, in the leader's name", () => {
    const node = leader({ settings });
    expect(sends(node.command({ type: "transfer", to: 2 }))).toEqual([{ to: 2, type: "TIMEOUT-NOW", term: 1 }]);
    const target = follower({ id: 2, settings, image: { term: 1, vote: 1 } });
    target.receive(1, append(1));
    expect(sends(target.receive(1, { type: "TIMEOUT-NOW", term: 1 }))).toContainEqual({ to: 3, ...vote(2, true) });
  });

  it("takes no proposals while it lasts, and again when it is given up", () => {
    const node = leader({ settings });
    expect(takesProposals(node.state)).toBe(true);
    expect(node.command({ type: "transfer", to: 2 })).toContainEqual({
      type: "set",
      timer: "transfer",
      afterMs: 150,
      subject: 0,
    });
    expect(takesProposals(node.state)).toBe(false);
    node.expire("transfer");
    expect(takesProposals(node.state)).toBe(true);
  });

  it("to the same target goes on, to another begins anew, to itself or a stranger does not begin", () => {
    const node = leader({ settings });
    for (const stranger of [1, 9]) expect(node.command({ type: "transfer", to: stranger })).toEqual([]);
    node.command({ type: "transfer", to: 2 });
    expect(node.command({ type: "transfer", to: 2 })).toEqual([]);
    expect(sends(node.command({ type: "transfer", to: 3 }))).toEqual([{ to: 3, type: "TIMEOUT-NOW", term: 1 }]);
    expect(node.state.transferee).toBe(3);
  });

  it("is for leaders to begin", () => {
    expect(follower({ settings }).command({ type: "transfer", to: 2 })).toEqual([]);
  });

  it("of an older term, or to a candidate, moves nobody", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    expect(node.receive(2, { type: "TIMEOUT-NOW", term: 2 })).toEqual([]);
    const standing = candidate();
    expect(standing.receive(2, { type: "TIMEOUT-NOW", term: 1 })).toEqual([]);
  });

  it("that fails leaves no mark on its target's next campaign", () => {
    const node = follower({ settings: { ...settings, preVote: false }, image: { term: 1, vote: 0 } });
    node.receive(2, append(1));
    expect(sends(node.receive(2, { type: "TIMEOUT-NOW", term: 1 }))).toContainEqual({ to: 3, ...vote(2, true) });
    expect(sends(node.expire("election"))).toContainEqual({ to: 3, ...vote(3, false) });
  });

  it("succeeds at once in a group whose members hear their leader", () => {
    const world = new ProtocolWorld(specOf("raft-election", { leader: 1 }));
    world.runTo(500);
    world.apply({ type: "tell", node: 1, command: "transfer", argument: 4 });
    world.runTo(545);
    expect(world.agreedLeader()).toBe(4);
    expect(world.member(4).term).toBe(1);
  });
});
