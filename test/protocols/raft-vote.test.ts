// Raft's election, rule by rule: votes, candidates, leaders, and the election timer.
import { describe, expect, it } from "vitest";
import { isUpToDate } from "../../src/protocols/raft/log.ts";
import {
  append,
  appended,
  candidate,
  type Effects,
  follower,
  leader,
  PLAIN,
  preVote,
  preVoted,
  sends,
  setsElectionTimer,
  vote,
  voted,
  writes,
} from "./raft-node.ts";

describe("a vote (section 5.2)", () => {
  it("is on disk, with its term, before its answer leaves", () => {
    const node = follower();
    const effects = node.receive(2, vote(3));
    expect(sends(effects)).toEqual([]);
    expect(writes(effects)).toEqual([{ term: 3, vote: 2 }]);
    expect(sends(node.stored(1))).toEqual([{ to: 2, ...voted(3) }]);
  });

  it("is given to one candidate in a term, and to that one again", () => {
    const node = follower({ image: { term: 3, vote: 2 } });
    expect(sends(node.receive(4, vote(3)))).toEqual([{ to: 4, ...voted(3, false) }]);
    expect(sends(node.receive(2, vote(3)))).toEqual([{ to: 2, ...voted(3) }]);
  });

  it("is free again in a newer term", () => {
    const node = follower({ image: { term: 3, vote: 2 } });
    expect(writes(node.receive(4, vote(4)))).toEqual([{ term: 4, vote: 4 }]);
  });

  it("is refused to an older term, with the newer one", () => {
    expect(sends(follower({ image: { term: 3, vote: 0 } }).receive(4, vote(2)))).toEqual([
      { to: 4, ...voted(3, false) },
    ]);
  });

  it("is refused in a term that has a leader", () => {
    const node = follower({ image: { term: 3, vote: 0 } });
    node.receive(2, append(3));
    expect(sends(node.receive(4, vote(3)))).toEqual([{ to: 4, ...voted(3, false) }]);
  });

  it("is refused to a log that ends before the own one, and the newer term taken over all the same (section 5.4.1)", () => {
    const node = follower({ settings: { ...PLAIN, logs: "attribute" }, attribute: 7 });
    const effects = node.receive(2, { type: "VOTE", term: 3, log: { term: 0, index: 6 }, isTransfer: false });
    expect(writes(effects)).toEqual([{ term: 3, vote: 0 }]);
    expect(sends(node.stored(1))).toEqual([{ to: 2, ...voted(3, false) }]);
  });

  it.each([
    [1, 1, 1, 1, true],
    [1, 2, 1, 1, true],
    [2, 1, 1, 1, true],
    [2, 1, 1, 2, true],
    [1, 1, 1, 2, false],
    [1, 2, 2, 1, false],
    [1, 1, 2, 1, false],
  ])("of a log that ends at term %i index %i by one of term %i index %i: %s", (term, index, ownTerm, ownIndex, is) => {
    expect(isUpToDate({ term, index }, { term: ownTerm, index: ownIndex })).toBe(is);
  });

  it("that waits for the disk leaves in its turn, also when a newer one is decided meanwhile", () => {
    const node = follower();
    node.receive(2, vote(3));
    node.receive(4, vote(4));
    expect(sends(node.stored(1))).toEqual([{ to: 2, ...voted(3) }]);
    expect(sends(node.stored(2))).toEqual([{ to: 4, ...voted(4) }]);
  });
});

describe("a candidate", () => {
  it("votes for itself, writes that down, and asks everybody (section 5.2)", () => {
    const node = follower({ nodes: 3, image: { term: 6, vote: 3 } });
    const effects = node.expire("election");
    expect(writes(effects)).toEqual([{ term: 7, vote: 1 }]);
    expect(sends(effects)).toEqual([2, 3].map((to) => ({ to, ...vote(7) })));
    expect(effects).toContainEqual({ type: "announce", role: "candidate", leader: 0, term: 7 });
  });

  it.each([
    [3, [2]],
    [5, [2, 3, 4]],
  ])("of %i with the votes of %j leads only when its own is on disk", (nodes, voters) => {
    const node = follower({ nodes });
    node.expire("election");
    for (const voter of voters) node.receive(voter, voted(1));
    expect(node.state.role).toBe("candidate");
    node.stored(1);
    expect(node.state.role).toBe("leader");
  });

  it("counts a vote once, however often it arrives", () => {
    const node = candidate();
    node.receive(2, voted(1));
    node.receive(2, voted(1));
    expect(node.state.role).toBe("candidate");
    node.receive(3, voted(1));
    expect(node.state.role).toBe("leader");
  });

  it("counts neither refusals, nor votes of an older term, nor pre-votes", () => {
    const node = candidate();
    node.expire("election");
    node.stored(2);
    for (const peer of [2, 3, 4, 5]) {
      node.receive(peer, voted(2, false));
      node.receive(peer, voted(1));
      node.receive(peer, preVoted(2));
      node.receive(peer, preVoted(3));
    }
    expect(node.state).toMatchObject({ role: "candidate", term: 2 });
  });

  it.each([append(1), append(2)])("gives way to a leader of its term or a newer one: $term", (message) => {
    const node = candidate();
    node.receive(2, message);
    expect(node.state).toMatchObject({ role: "follower", leader: 2, term: message.term });
  });

  it.each([
    voted(4, false),
    appended(4),
    vote(4),
    preVoted(4, false),
    append(4),
    { type: "TIMEOUT-NOW", term: 4 } as const,
  ])("and everybody else takes over a newer term: $type (section 5.1)", (message) => {
    for (const node of [follower({ image: { term: 1, vote: 0 } }), candidate(), leader()]) {
      node.receive(3, message);
      expect(node.state.term).toBeGreaterThanOrEqual(4);
      expect(node.state.role).not.toBe("leader");
    }
  });

  it("stands again in a newer term, with a newly drawn timeout, when nobody won", () => {
    const node = candidate();
    const { timeoutMs } = node.state;
    expect(sends(node.expire("election"))).toContainEqual({ to: 2, ...vote(2) });
    expect(node.state.timeoutMs).not.toBe(timeoutMs);
  });

  it("alone in its group is elected by its own vote", () => {
    for (const hasPreVote of [true, false]) {
      const node = follower({ nodes: 1, settings: { preVote: hasPreVote, checkQuorum: true } });
      node.expire("election");
      expect(node.state.role).toBe("candidate");
      node.stored(1);
      expect(node.state.role).toBe("leader");
      node.expire("check-quorum");
      expect(node.state.role).toBe("leader");
    }
  });
});

describe("a leader", () => {
  it("tells everybody at once, and at each heartbeat", () => {
    const node = candidate({ nodes: 3 });
    const elected = node.receive(2, voted(1));
    expect(sends(elected)).toEqual([2, 3].map((to) => ({ to, ...append(1) })));
    expect(elected).toContainEqual({ type: "set", timer: "heartbeat", afterMs: 75, subject: 0 });
    expect(sends(node.expire("heartbeat"))).toEqual([2, 3].map((to) => ({ to, ...append(1) })));
  });

  it("of an older term is answered with the newer one", () => {
    const node = follower({ image: { term: 3, vote: 0 } });
    expect(sends(node.receive(2, append(2)))).toEqual([{ to: 2, ...appended(3) }]);
    expect(node.state.leader).toBe(0);
  });

  it("is not told anything of a term that is not on the follower's disk", () => {
    const node = follower();
    expect(sends(node.receive(2, append(3)))).toEqual([]);
    expect(sends(node.stored(1))).toEqual([{ to: 2, ...appended(3) }]);
  });
});

describe("the election timer is set anew", () => {
  it.each<[string, () => Effects, boolean]>([
    ["by a valid leader", () => follower({ image: { term: 3, vote: 0 } }).receive(2, append(3)), true],
    ["by a vote that is given", () => follower({ image: { term: 3, vote: 0 } }).receive(2, vote(3)), true],
    ["not by the same vote again", () => follower({ image: { term: 3, vote: 2 } }).receive(2, vote(3)), false],
    ["not by a refused vote", () => follower({ image: { term: 3, vote: 4 } }).receive(2, vote(3)), false],
    ["not by an older leader", () => follower({ image: { term: 3, vote: 0 } }).receive(2, append(2)), false],
    ["not by an older candidate", () => follower({ image: { term: 3, vote: 0 } }).receive(2, vote(2)), false],
    ["not by a pre-vote", () => follower({ image: { term: 3, vote: 0 } }).receive(2, preVote(4)), false],
    ["not by a newer term alone", () => follower({ image: { term: 3, vote: 0 } }).receive(2, voted(4, false)), false],
    [
      "not by a newer term whose log is worse",
      () => follower({ settings: { ...PLAIN, logs: "attribute" } }).receive(2, vote(4)),
      false,
    ],
  ])("%s", (_what, input, isSet) => {
    expect(setsElectionTimer(input())).toBe(isSet);
  });

  it("to a length drawn evenly from the range", () => {
    const node = follower({ settings: { ...PLAIN, electionTimeoutMinMs: 100, electionTimeoutMaxMs: 200 } });
    const drawn = Array.from({ length: 2000 }, () => {
      node.expire("election");
      return node.state.timeoutMs;
    });
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...drawn)).toBeLessThan(200);
    expect(drawn.reduce((sum, ms) => sum + ms) / drawn.length).toBeCloseTo(150, -1);
    for (let tenth = 0; tenth < 10; tenth++)
      expect(drawn.filter((ms) => Math.floor((ms - 100) / 10) === tenth).length).toBeGreaterThan(140);
  });
});
