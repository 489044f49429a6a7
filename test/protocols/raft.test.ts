// Raft's election: its rules one by one, each with the section it comes from, and a group under faults. Numbers are in raft-figures.test.ts, partial
// partitions in raft-topologies.test.ts.
import { describe, expect, it } from "vitest";
import { raftElection, type RaftMessage, type RaftState, type RaftWrite, takesProposals } from "conclave/protocols";
import { huntProtocol, ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";
import { createRng, nextBetween, nextChance } from "../../src/base/rng.ts";
import { isUpToDate } from "../../src/protocols/raft/log.ts";
import { type Effect, type LoneNode, loneNode } from "./lone-node.ts";

type Node = LoneNode<RaftState, RaftMessage, RaftWrite>;
type Effects = readonly Effect<RaftMessage, RaftWrite>[];

const LOG = { term: 0, index: 0 };
const sends = (effects: Effects): unknown[] =>
  effects.flatMap((effect) => (effect.type === "send" ? [{ to: effect.to, ...effect.message }] : []));
const writes = (effects: Effects): RaftWrite[] =>
  effects.flatMap((effect) => (effect.type === "persist" ? [effect.write] : []));
const setsElectionTimer = (effects: Effects): boolean =>
  effects.some((effect) => effect.type === "set" && effect.timer === "election");
const vote = (term: number, isTransfer = false): RaftMessage => ({ type: "VOTE", term, log: LOG, isTransfer });
const voted = (term: number, isGranted = true): RaftMessage => ({ type: "VOTED", term, isGranted });
const preVote = (term: number): RaftMessage => ({ type: "PRE-VOTE", term, log: LOG });
const preVoted = (term: number, isGranted = true): RaftMessage => ({ type: "PRE-VOTED", term, isGranted });
const append = (term: number): RaftMessage => ({ type: "APPEND", term });
const appended = (term: number): RaftMessage => ({ type: "APPENDED", term });

const PLAIN = { preVote: false, checkQuorum: false };

interface Choices {
  readonly id?: number;
  readonly nodes?: number;
  readonly settings?: Record<string, boolean | string | number>;
  readonly image?: RaftWrite;
  readonly attribute?: number;
}

function follower({ id = 1, nodes = 5, settings = PLAIN, image, attribute = id }: Choices = {}): Node {
  const node = loneNode(raftElection, { id, nodes, settings, attribute });
  node.start(image);
  return node;
}

/** In term 1, its own vote on disk. */
function candidate(choices: Choices = {}): Node {
  const node = follower(choices);
  node.expire("election");
  node.stored(1);
  expect(node.state).toMatchObject({ role: "candidate", term: 1 });
  return node;
}

/** In term 1. */
function leader(choices: Choices = {}): Node {
  const node = candidate({ ...choices, settings: { ...PLAIN, ...choices.settings, preVote: false } });
  for (const peer of node.state.peers) node.receive(peer, voted(1));
  expect(node.state.role).toBe("leader");
  return node;
}

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

describe("a pre-vote (thesis, section 9.6)", () => {
  const settings = { preVote: true, checkQuorum: true };

  it("is asked for in the next term, which does not begin", () => {
    const node = follower({ nodes: 3, settings, image: { term: 6, vote: 3 } });
    const effects = node.expire("election");
    expect(sends(effects)).toEqual([2, 3].map((to) => ({ to, ...preVote(7) })));
    expect(writes(effects)).toEqual([]);
    expect(node.state).toMatchObject({ role: "pre-candidate", term: 6, vote: 3 });
  });

  it("is answered in the asker's term, and changes nothing: no term, no vote, no write, no timer", () => {
    const node = follower({ settings, image: { term: 3, vote: 4 } });
    const before = structuredClone(node.state);
    expect(node.receive(2, preVote(9))).toEqual([{ type: "send", to: 2, message: preVoted(9) }]);
    expect(node.receive(5, preVote(9))).toEqual([{ type: "send", to: 5, message: preVoted(9) }]);
    expect(node.state).toEqual(before);
  });

  it("of an older term is refused and not dropped, with the newer term", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    expect(sends(node.receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(3, false) }]);
  });

  it("of the current term is like a vote", () => {
    expect(sends(follower({ settings, image: { term: 3, vote: 4 } }).receive(2, preVote(3)))).toEqual([
      { to: 2, ...preVoted(3, false) },
    ]);
    expect(sends(follower({ settings, image: { term: 3, vote: 0 } }).receive(2, preVote(3)))).toEqual([
      { to: 2, ...preVoted(3) },
    ]);
  });

  it("is refused to a worse log, whatever its term", () => {
    const node = follower({ settings: { ...settings, logs: "attribute" }, attribute: 2 });
    expect(sends(node.receive(2, preVote(9)))).toEqual([{ to: 2, ...preVoted(0, false) }]);
  });

  it("is refused while a leader is heard", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    node.now = 149;
    expect(sends(node.receive(2, preVote(4)))).toEqual([{ to: 2, ...preVoted(3, false) }]);
    node.now = 150;
    expect(sends(node.receive(2, preVote(4)))).toEqual([{ to: 2, ...preVoted(4) }]);
  });

  it("is answered by candidates and leaders too", () => {
    expect(sends(candidate().receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(2) }]);
    expect(sends(leader().receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(1, false) }]);
  });

  it("granted raises nobody's term; refused raises the asker's", () => {
    const granted = follower({ settings, image: { term: 3, vote: 0 } });
    granted.receive(2, preVoted(9));
    expect(granted.state.term).toBe(3);
    const refused = follower({ settings, image: { term: 3, vote: 0 } });
    refused.expire("election");
    refused.receive(2, preVoted(9, false));
    expect(refused.state).toMatchObject({ role: "follower", term: 9 });
  });

  it("by a majority makes a candidate; those of an earlier round, and votes, do not count", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.expire("election");
    for (const peer of [2, 3, 4]) {
      node.receive(peer, preVoted(3));
      node.receive(peer, voted(3));
      node.receive(peer, preVoted(5));
    }
    expect(node.state.role).toBe("pre-candidate");
    node.receive(2, preVoted(4));
    node.receive(2, preVoted(4));
    expect(node.state.role).toBe("pre-candidate");
    node.receive(3, preVoted(4));
    expect(node.state).toMatchObject({ role: "candidate", term: 4 });
  });

  it("comes before every campaign, also after one that failed", () => {
    const node = follower({ settings });
    node.expire("election");
    for (const peer of [2, 3]) node.receive(peer, preVoted(1));
    expect(node.state.role).toBe("candidate");
    node.expire("election");
    expect(node.state).toMatchObject({ role: "pre-candidate", term: 1 });
  });

  it("does not keep its asker from voting for another, and then it waits", () => {
    const node = follower({ settings });
    node.expire("election");
    node.receive(2, vote(1));
    expect(node.state).toMatchObject({ role: "follower", term: 1, vote: 2 });
  });
});

describe("with CheckQuorum (thesis, sections 4.2.3 and 6.2)", () => {
  const settings = { preVote: false, checkQuorum: true };

  it("a leader whom no majority answers within an election timeout steps down, and keeps its term", () => {
    const node = leader({ settings });
    node.receive(2, appended(1));
    const effects = node.expire("check-quorum");
    expect(node.state).toMatchObject({ role: "follower", leader: 0, term: 1, vote: 1 });
    expect(setsElectionTimer(effects)).toBe(true);
  });

  it("counts what came since the last look, and no answer of another term", () => {
    const node = leader({ settings });
    for (const peer of [2, 3]) node.receive(peer, appended(1));
    node.expire("check-quorum");
    expect(node.state.role).toBe("leader");
    for (const peer of [2, 3]) node.receive(peer, appended(0));
    node.expire("check-quorum");
    expect(node.state.role).toBe("follower");
  });

  it("whoever hears a leader ignores who asks for votes, and its term, for the least election timeout", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    node.now = 149;
    expect(node.receive(2, vote(9))).toEqual([]);
    expect(node.state.term).toBe(3);
    node.now = 150;
    expect(writes(node.receive(2, vote(9)))).toEqual([{ term: 9, vote: 2 }]);
  });

  it("a leader ignores them too", () => {
    const node = leader({ settings });
    expect(node.receive(2, vote(9))).toEqual([]);
  });

  it("but not those whom the leader sent", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    expect(writes(node.receive(2, vote(4, true)))).toEqual([{ term: 4, vote: 2 }]);
  });

  it("without it, nobody ignores a vote", () => {
    const node = follower({ image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    expect(writes(node.receive(2, vote(9)))).toEqual([{ term: 9, vote: 2 }]);
  });
});

describe("a transfer (thesis, section 3.10)", () => {
  const settings = { preVote: true, checkQuorum: true };

  it("tells its target, which stands at once, without pre-votes, in the leader's name", () => {
    const node = leader({ settings });
    expect(sends(node.command("transfer", 2))).toEqual([{ to: 2, type: "TIMEOUT-NOW", term: 1 }]);
    const target = follower({ id: 2, settings, image: { term: 1, vote: 1 } });
    target.receive(1, append(1));
    expect(sends(target.receive(1, { type: "TIMEOUT-NOW", term: 1 }))).toContainEqual({ to: 3, ...vote(2, true) });
  });

  it("takes no proposals while it lasts, and again when it is given up", () => {
    const node = leader({ settings });
    expect(takesProposals(node.state)).toBe(true);
    expect(node.command("transfer", 2)).toContainEqual({ type: "set", timer: "transfer", afterMs: 150, subject: 0 });
    expect(takesProposals(node.state)).toBe(false);
    node.expire("transfer");
    expect(takesProposals(node.state)).toBe(true);
  });

  it("to the same target goes on, to another begins anew, to itself or a stranger does not begin", () => {
    const node = leader({ settings });
    for (const stranger of [1, 9]) expect(node.command("transfer", stranger)).toEqual([]);
    node.command("transfer", 2);
    expect(node.command("transfer", 2)).toEqual([]);
    expect(sends(node.command("transfer", 3))).toEqual([{ to: 3, type: "TIMEOUT-NOW", term: 1 }]);
    expect(node.state.transferee).toBe(3);
  });

  it("is for leaders to begin", () => {
    expect(follower({ settings }).command("transfer", 2)).toEqual([]);
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

describe("a group", () => {
  const latency = uniformLatency(1, 10);
  const links = { latency, lossChance: 0, duplicateChance: 0, isFifo: false };
  const modes = [
    { preVote: false, checkQuorum: false },
    { preVote: true, checkQuorum: false },
    { preVote: false, checkQuorum: true },
    { preVote: true, checkQuorum: true },
  ];

  it.each(modes)("elects one, and keeps it: %j", (settings) => {
    for (let seed = 1; seed <= 50; seed++) {
      const world = new ProtocolWorld(specOf("raft-election", { nodes: 3, seed, links, settings }));
      world.runTo(3000);
      const [leads, term] = [world.agreedLeader(), world.member(1).term];
      expect(leads).toBeGreaterThan(0);
      world.runTo(5000);
      expect(world.agreedLeader()).toBe(leads);
      expect(world.members.map((member) => member.term)).toEqual([term, term, term]);
      expect(world.violations).toEqual([]);
    }
  });

  it.each(modes)("replaces a lost leader, has none without a majority, and takes the old one back: %j", (settings) => {
    for (let seed = 1; seed <= 50; seed++) {
      const world = new ProtocolWorld(specOf("raft-election", { nodes: 3, seed, links, settings }));
      world.runTo(3000);
      const first = world.agreedLeader();
      world.apply({ type: "crash", node: first });
      world.runTo(6000);
      const second = world.agreedLeader();
      expect([0, first]).not.toContain(second);
      world.apply({ type: "restart", node: first });
      world.runTo(9000);
      expect(world.agreedLeader()).toBeGreaterThan(0);
      world.apply({ type: "crash-role", role: "leader" });
      world.apply({ type: "crash", node: world.members.find((member) => member.isUp)?.id ?? 0 });
      world.runTo(12_000);
      expect(world.leaders()).toEqual([]);
      world.apply({ type: "restart-all" });
      world.runTo(15_000);
      expect(world.agreedLeader()).toBeGreaterThan(0);
      expect(world.violations).toEqual([]);
    }
  });

  it("of seven elects again and again while any three are cut off", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const world = new ProtocolWorld(specOf("raft-election", { nodes: 7, seed, links }));
      for (let round = 0; round < 9; round++) {
        const out = [1, 2, 3].map((step) => ((seed + round * 3 + step * step) % 7) + 1);
        const rest = [1, 2, 3, 4, 5, 6, 7].filter((id) => !out.includes(id));
        const sides = [...new Set(out)].map(String);
        world.apply({ type: "partition", how: [rest.join(","), ...sides].join("/") });
        world.runTo(world.nowMs + 3000);
        expect(rest).toContain(world.agreedLeader(rest));
        world.apply({ type: "heal" });
        world.runTo(world.nowMs + 3000);
        expect(world.agreedLeader()).toBeGreaterThan(0);
      }
      expect(world.violations).toEqual([]);
    }
  });

  it("whose longest log is behind in terms elects it all the same (etcd 8501)", () => {
    for (const checkQuorum of [true, false]) {
      const settings = { preVote: true, checkQuorum, logs: "attribute" };
      const world = new ProtocolWorld(
        specOf("raft-election", { nodes: 3, links, settings, attributes: [1, 1, 2], down: [3] }),
      );
      for (let round = 0; round < 5; round++) {
        world.runTo(world.nowMs + 3000);
        world.apply({ type: "crash-role", role: "leader" });
        world.apply({ type: "restart-all" });
        world.apply({ type: "crash", node: 3 });
      }
      expect(world.member(1).term).toBeGreaterThan(2);
      world.apply({ type: "crash", node: 1 });
      world.apply({ type: "restart", node: 3 });
      world.runTo(world.nowMs + 3000);
      expect(world.agreedLeader()).toBe(3);
    }
  });

  it("has one leader a term, though its members crash in the middle of their writes", { timeout: 60_000 }, () => {
    for (let seed = 1; seed <= 400; seed++) {
      const settings = modes[seed % modes.length] ?? {};
      const nodes = 3 + (seed % 3);
      const diskLatency = uniformLatency(0, 60);
      const spec = specOf("raft-election", {
        nodes,
        seed,
        links: { ...links, duplicateChance: 0.1 },
        settings,
        diskLatency,
      });
      const world = new ProtocolWorld(spec, { isRecorded: true });
      const luck = createRng(seed, 77);
      let seen = 0;
      while (world.nowMs < 10_000 && world.step()) {
        for (; seen < world.trace.events.length; seen++) {
          const event = world.trace.events[seen];
          if (event?.type !== "persist" || !nextChance(luck, 0.5)) continue;
          world.kernel.schedule(world.nowMs + nextBetween(luck, 0, 60), world, "action", 0, {
            type: "crash",
            node: event.node,
          });
          const backMs = world.nowMs + nextBetween(luck, 0, 60);
          world.kernel.schedule(backMs, world, "action", 0, { type: "restart-all" });
        }
        if (nextChance(luck, 0.002)) world.apply({ type: "crash-role", role: "leader" });
      }
      expect(world.violations).toEqual([]);
    }
  });

  it("keeps its promises in 500 drawn worlds of every fault", { timeout: 60_000 }, () => {
    const findings = Array.from({ length: 500 }, (_, index) => huntProtocol("raft-election", index + 1)).filter(
      ({ violation }) => violation,
    );
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });
});

it("a state is plain data", () => {
  const world = new ProtocolWorld(specOf("raft-election"));
  world.runTo(300);
  expect(structuredClone(world.member(1).state)).toEqual(world.member(1).state);
});
