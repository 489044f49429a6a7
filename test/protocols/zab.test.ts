// ZAB: the rules of Fast Leader Election one by one, the epoch that makes a leader of the elected, its numbers, and what partial connections do to it.
import { describe, expect, it } from "vitest";
import { zab, type ZabImage, type ZabMessage, type ZabState } from "conclave/protocols";
import { huntProtocol, ProtocolWorld, specOf } from "conclave/simulator";
import type { Notification, PeerState } from "../../src/protocols/zab/state.ts";
import { isBetter } from "../../src/protocols/zab/vote.ts";
import { loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

interface Said {
  readonly leader: number;
  readonly zxid?: number;
  readonly round?: number;
  readonly peerEpoch?: number;
  readonly state?: PeerState;
}

const vote = ({ leader, zxid = 0, round = 1, peerEpoch = 0, state = "looking" }: Said): Notification => ({
  type: "NOTIFICATION",
  leader,
  zxid,
  round,
  peerEpoch,
  state,
});

/** Looks in round 1, with zxid 0, and has heard itself. */
function looking(id: number, nodes: number, settings = {}, image?: ZabImage) {
  const node = loneNode(zab, { id, nodes, attribute: 0, settings });
  node.start(image);
  node.receive(id, vote({ ...node.state.vote, state: "looking" }));
  return node;
}

type Lone = ReturnType<typeof looking>;
const sends = (effects: ReturnType<Lone["start"]>, to: number): readonly ZabMessage[] =>
  effects.flatMap((effect) => (effect.type === "send" && effect.to === to ? [effect.message] : []));

describe("which vote is better", () => {
  const state = looking(1, 5, { weightless: "5" }).state;
  it.each([
    ["a greater id, all else equal", { leader: 2 }, { leader: 1 }, true],
    ["a lesser id, all else equal", { leader: 1 }, { leader: 2 }, false],
    ["the same", { leader: 1 }, { leader: 1 }, false],
    ["a longer history before a greater id", { leader: 1, zxid: 2 }, { leader: 2, zxid: 1 }, true],
    [
      "a newer epoch before a longer history",
      { leader: 1, zxid: 1, peerEpoch: 2 },
      { leader: 2, zxid: 9, peerEpoch: 1 },
      true,
    ],
    [
      "a longer history of an older epoch",
      { leader: 2, zxid: 9, peerEpoch: 1 },
      { leader: 1, zxid: 1, peerEpoch: 2 },
      false,
    ],
    ["never one of weight 0", { leader: 5, zxid: 9, peerEpoch: 9 }, { leader: 1 }, false],
  ])("%s", (_what, one, other, isSo) => {
    expect(isBetter(state, vote(one), vote(other))).toBe(isSo);
  });
});

describe("who looks", () => {
  it("proposes itself to everybody, itself included, and again after 200 ms, 400 ms … 60 s", () => {
    const node = loneNode(zab, { id: 2, nodes: 3, attribute: 7 });
    const begun = node.start();
    for (const peer of [1, 2, 3]) expect(sends(begun, peer)).toEqual([vote({ leader: 2, zxid: 7 })]);
    const waits = Array.from({ length: 11 }, () => node.expire("resend")).map((effects) =>
      effects.flatMap((effect) => (effect.type === "set" ? effect.afterMs : [])),
    );
    expect(waits.flat()).toEqual([400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000]);
    expect(sends(node.expire("resend"), 3)).toHaveLength(1);
  });

  it("adopts a better vote of its round and passes it on; a worse one it only counts", () => {
    const node = looking(1, 5);
    expect(sends(node.receive(3, vote({ leader: 3 })), 5)).toEqual([vote({ leader: 3 })]);
    expect(sends(node.receive(2, vote({ leader: 2 })), 5)).toEqual([]);
    expect([...node.state.received.keys()]).toEqual([1, 3, 2]);
  });

  it("in a newer round forgets what it counted, and weighs the vote against its first one", () => {
    const node = looking(2, 5);
    node.receive(5, vote({ leader: 5 }));
    expect(node.state.vote.leader).toBe(5);
    // 5 is not in round 4, so nobody there votes for it.
    const effects = node.receive(1, vote({ leader: 1, round: 4 }));
    expect(sends(effects, 3)).toEqual([vote({ leader: 2, round: 4 })]);
    expect([...node.state.received.keys()]).toEqual([1]);
  });

  it("tells a node that looks in an earlier round, and does not count it", () => {
    const node = looking(2, 5);
    node.receive(1, vote({ leader: 1, round: 4 }));
    expect(sends(node.receive(3, vote({ leader: 3, round: 3 })), 3)).toEqual([vote({ leader: 2, round: 4 })]);
    expect(node.state.received.has(3)).toBe(false);
  });

  it("does not count votes of different rounds, or for different histories, together", () => {
    const node = looking(1, 3);
    node.receive(3, vote({ leader: 3, zxid: 5, round: 2 }));
    node.receive(1, vote({ leader: 3, zxid: 4, round: 2 }));
    expect(node.state.isFinalizing).toBe(false);
    node.receive(1, vote({ leader: 3, zxid: 5, round: 2 }));
    expect(node.state.isFinalizing).toBe(true);
  });

  it("waits finalizeWait when a quorum agrees, anew once for each peer that speaks, and decides then", () => {
    const node = looking(3, 5);
    node.receive(1, vote({ leader: 3 }));
    const agreed = node.receive(2, vote({ leader: 3 }));
    expect(agreed).toContainEqual({ type: "set", timer: "finalize", afterMs: 200, subject: 0 });
    expect(node.receive(4, vote({ leader: 1 }))).toEqual([
      { type: "set", timer: "finalize", afterMs: 200, subject: 0 },
    ]);
    // Peers that repeat themselves more often than that do not keep it waiting for ever.
    expect(node.receive(4, vote({ leader: 1 }))).toEqual([]);
    node.expire("finalize");
    expect(node.state).toMatchObject({ mode: "leading", reign: { phase: "gathering" } });
  });

  it("goes on looking when a better vote comes during that wait", () => {
    const node = looking(3, 5);
    node.receive(1, vote({ leader: 3 }));
    node.receive(2, vote({ leader: 3 }));
    const effects = node.receive(5, vote({ leader: 5 }));
    expect(effects).toContainEqual({ type: "cancel", timer: "finalize", subject: 0 });
    expect(node.state).toMatchObject({ isFinalizing: false, vote: { leader: 5 } });
  });

  it.each([
    ["a leader that is no member", { ...vote({ leader: 9 }) }],
    ["a round that is no number", { ...vote({ leader: 3 }), round: Number.NaN }],
    ["a zxid that is a text", { ...vote({ leader: 3 }), zxid: "7" as unknown as number }],
    ["no epoch", { ...vote({ leader: 3 }), peerEpoch: undefined as unknown as number }],
    ["a state that there is not", { ...vote({ leader: 3 }), state: "observing" as PeerState }],
  ])("ignores a notification with %s", (_what, message) => {
    const node = looking(1, 3);
    expect(node.receive(3, message)).toEqual([]);
    expect(node.state.vote.leader).toBe(1);
  });
});

describe("who looks and hears from those who do not", () => {
  it("joins when a quorum follows and the leader itself leads, whatever the rounds and histories of their votes", () => {
    const node = looking(1, 5);
    node.receive(2, vote({ leader: 4, zxid: 1, round: 3, peerEpoch: 6, state: "following" }));
    node.receive(3, vote({ leader: 4, zxid: 2, round: 4, peerEpoch: 6, state: "following" }));
    expect(node.state.mode).toBe("looking");
    const effects = node.receive(4, vote({ leader: 4, zxid: 3, round: 5, peerEpoch: 6, state: "leading" }));
    expect(sends(effects, 4)).toEqual([{ type: "CEPOCH", acceptedEpoch: 0 }]);
    expect(node.state).toMatchObject({ mode: "following", round: 5, vote: { leader: 4, round: 5, peerEpoch: 6 } });
  });

  it("does not join while they follow in different epochs", () => {
    const node = looking(1, 3);
    node.receive(2, vote({ leader: 3, round: 3, peerEpoch: 5, state: "following" }));
    node.receive(3, vote({ leader: 3, round: 3, peerEpoch: 6, state: "leading" }));
    expect(node.state.mode).toBe("looking");
  });

  it("does not join a leader that has not said so itself", () => {
    const node = looking(1, 5);
    for (const peer of [2, 3, 4]) node.receive(peer, vote({ leader: 5, round: 3, peerEpoch: 6, state: "following" }));
    expect(node.state.mode).toBe("looking");
  });

  it("counts the leader's word of its own round at once, with votes of those who still look", () => {
    const node = looking(1, 3);
    node.receive(1, vote({ leader: 3 }));
    node.state.vote = vote({ leader: 3 });
    expect(sends(node.receive(3, vote({ leader: 3, state: "leading" })), 3)).toEqual([
      { type: "CEPOCH", acceptedEpoch: 0 },
    ]);
  });

  it("does not take the leader's word of another round for one of this round", () => {
    const node = looking(1, 5);
    node.receive(1, vote({ leader: 3 }));
    node.receive(3, vote({ leader: 3, round: 7, peerEpoch: 2, state: "leading" }));
    for (const peer of [2, 4]) node.receive(peer, vote({ leader: 3, state: "following" }));
    expect(node.state.mode).toBe("looking");
  });

  it("is not made leader by those who followed it in an earlier round", () => {
    const node = looking(3, 3);
    node.receive(1, vote({ leader: 3, round: 4, peerEpoch: 2, state: "following" }));
    node.receive(2, vote({ leader: 3, round: 4, peerEpoch: 2, state: "following" }));
    expect(node.state.mode).toBe("looking");
    node.receive(1, vote({ leader: 1, round: 5 }));
    node.receive(1, vote({ leader: 3, round: 5, state: "following" }));
    node.receive(2, vote({ leader: 3, round: 5, state: "following" }));
    expect(node.state.mode).toBe("leading");
  });
});

describe("who follows", () => {
  it("answers a node that looks with the vote it follows, of that vote's round", () => {
    const node = following();
    expect(sends(node.receive(3, vote({ leader: 3, round: 9 })), 3)).toEqual([
      vote({ leader: 2, round: 1, state: "following" }),
    ]);
    expect(node.receive(3, vote({ leader: 3, round: 9, state: "following" }))).toEqual([]);
  });

  it("accepts an epoch when it is on disk, and only then", () => {
    const node = following();
    expect(sends(node.receive(2, { type: "NEWEPOCH", epoch: 4 }), 2)).toEqual([]);
    const accepted = { type: "ACKEPOCH", epoch: 4, currentEpoch: 0, zxid: 0, counts: true };
    expect(sends(node.stored(1), 2)).toEqual([accepted]);
    expect(sends(node.receive(2, { type: "NEWEPOCH", epoch: 4 }), 2)).toEqual([accepted]);
    expect(node.receive(2, { type: "NEWEPOCH", epoch: 3 })).toEqual([]);
  });

  it("does not count in an epoch that an earlier life accepted, for whom it does not know", () => {
    const node = following({ acceptedEpoch: 4, currentEpoch: 3, zxid: 8 });
    expect(sends(node.receive(2, { type: "NEWEPOCH", epoch: 4 }), 2)).toEqual([
      { type: "ACKEPOCH", epoch: 4, currentEpoch: 3, zxid: 8, counts: false },
    ]);
  });

  it("writes the history first, and then the epoch that it belongs to", () => {
    const node = following({ acceptedEpoch: 4, currentEpoch: 3, zxid: 8 });
    const effects = node.receive(2, { type: "NEWLEADER", epoch: 4, zxid: 6 });
    expect(effects.flatMap((effect) => (effect.type === "persist" ? effect.write : []))).toEqual([
      { acceptedEpoch: 4, currentEpoch: 3, zxid: 6 },
      { acceptedEpoch: 4, currentEpoch: 4, zxid: 6 },
    ]);
    expect(node.stored(1)).toEqual([]);
    expect(sends(node.stored(2), 2)).toEqual([{ type: "ACKLEADER", epoch: 4 }]);
  });

  it("looks again when it hears that its leader does, and counts that vote", () => {
    const node = following();
    expect(node.receive(2, vote({ leader: 1, round: 1 }))).not.toContainEqual(
      expect.objectContaining({ type: "announce" }),
    );
    node.receive(2, vote({ leader: 2, round: 5 }));
    expect(node.state).toMatchObject({ mode: "looking", round: 5, vote: { leader: 2 } });
  });

  it("listens to nobody but its leader", () => {
    const node = following();
    expect(node.receive(3, { type: "NEWEPOCH", epoch: 4 })).toEqual([]);
    expect(node.receive(3, { type: "NEWLEADER", epoch: 4, zxid: 9 })).toEqual([]);
  });

  function following(image?: ZabImage) {
    const node = looking(1, 3, {}, image);
    const { zxid, currentEpoch } = node.state;
    node.receive(2, vote({ leader: 2, zxid, peerEpoch: currentEpoch }));
    node.receive(1, vote({ leader: 2, zxid, peerEpoch: currentEpoch }));
    node.expire("finalize");
    expect(node.state.mode).toBe("following");
    return node;
  }
});

describe("who was elected", () => {
  it("chooses an epoch greater than a quorum's, has it on disk, and leads when a quorum has accepted it and has its history", () => {
    const node = elected();
    node.receive(1, { type: "CEPOCH", acceptedEpoch: 6 });
    expect(sends(node.stored(1), 1)).toEqual([{ type: "NEWEPOCH", epoch: 7 }]);
    const accepted = node.receive(1, { type: "ACKEPOCH", epoch: 7, currentEpoch: 0, zxid: 0, counts: true });
    expect(sends(accepted, 1)).toEqual([{ type: "NEWLEADER", epoch: 7, zxid: 0 }]);
    node.receive(1, { type: "ACKLEADER", epoch: 7 });
    expect(node.state.reign?.phase).toBe("synchronising");
    expect(node.stored(2)).toContainEqual({ type: "announce", role: "leader", leader: 3, term: 7 });
    expect(node.state.vote.peerEpoch).toBe(7);
  });

  it("does not count a follower that is ahead of it, nor one that accepted the epoch for another", () => {
    const node = elected();
    node.receive(1, { type: "CEPOCH", acceptedEpoch: 0 });
    node.stored(1);
    node.receive(1, { type: "ACKEPOCH", epoch: 1, currentEpoch: 0, zxid: 9, counts: true });
    node.receive(2, { type: "ACKEPOCH", epoch: 1, currentEpoch: 0, zxid: 0, counts: false });
    expect(node.state.reign?.phase).toBe("proposing");
  });

  it("looks again when somebody who wants to follow has accepted a later epoch", () => {
    const node = elected();
    node.receive(1, { type: "CEPOCH", acceptedEpoch: 0 });
    node.stored(1);
    node.receive(2, { type: "CEPOCH", acceptedEpoch: 2 });
    expect(node.state).toMatchObject({ mode: "looking", round: 2 });
  });

  it("looks again as soon as its electors do, and does not wait out initLimit", () => {
    const node = elected();
    // Slow: cast before the vote that elected.
    node.receive(1, vote({ leader: 1 }));
    expect(node.state.mode).toBe("leading");
    node.receive(1, vote({ leader: 1, round: 2 }));
    expect(node.state.mode).toBe("looking");
  });

  function elected() {
    const node = looking(3, 3);
    node.receive(1, vote({ leader: 3 }));
    node.expire("finalize");
    expect(node.state.reign?.phase).toBe("gathering");
    return node;
  }
});

describe("numbers", () => {
  const LATENCY_MS = 10;
  const table = [3, 5, 7].flatMap((nodes) => [0, 50, 200, 1000].map((finalizeWaitMs) => ({ nodes, finalizeWaitMs })));

  it.each(table)(
    "a contested election of $nodes takes at least finalizeWait, $finalizeWaitMs ms, and seven messages more at most",
    (row) => {
      const { nodes, finalizeWaitMs } = row;
      const { ledMs, result } = elect("zab", { nodes, settings: { finalizeWaitMs } });
      expect(result).toMatchObject({ leader: nodes, term: 1, violations: [] });
      // Two to agree; CEPOCH, NEWEPOCH, ACKEPOCH, NEWLEADER, ACKLEADER to lead.
      expect(ledMs).toBeGreaterThanOrEqual(finalizeWaitMs);
      expect(ledMs).toBeLessThan(finalizeWaitMs + 7 * LATENCY_MS + 1);
    },
  );

  it("a newcomer needs no finalizeWait", () => {
    const { world } = elect("zab", { nodes: 3, leader: 3, down: [1] }, ["300ms restart 1"]);
    expect(world.lastAnnouncedMs).toBeCloseTo(300 + 8 * LATENCY_MS, 3);
  });
});

describe("a group", () => {
  it("elects the longest history", () => {
    expect(elect("zab", { nodes: 5, attributes: [1, 90, 3, 90, 5] }).result).toMatchObject({
      leader: 4,
      violations: [],
    });
  });

  it("replaces a dead leader, and takes it back as a follower", () => {
    const lines = ["100ms crash 5", "5000ms restart 5"];
    const { result } = elect("zab", { nodes: 5, leader: 5 }, lines);
    expect(result).toMatchObject({ leader: 4, term: 2, violations: [] });
  });

  it("never elects one of weight 0, though it has the longest history", () => {
    const { result } = elect("zab", { nodes: 4, attributes: [1, 2, 3, 99], settings: { weightless: "4" } });
    expect(result).toMatchObject({ leader: 3, violations: [] });
  });

  it("has no leader without a quorum", () => {
    const { world } = elect("zab", { nodes: 5, down: [3, 4, 5] }, [], { maxMs: 20_000 });
    expect(world.leaders()).toEqual([]);
  });

  it.each([
    ["can send and not hear", ["cut 1>3", "cut 2>3"]],
    ["can hear and not send", ["cut 3>1", "cut 3>2"]],
  ])("is not disturbed for good by a better peer that %s", (_what, cuts) => {
    const { world } = elect("zab", { nodes: 3, settings: { maxNotificationMs: 400 } }, cuts, { maxMs: 30_000 });
    expect(world.leaders()).toEqual([2]);
    const { term } = world.member(2);
    world.runTo(60_000);
    expect([world.leaders(), world.member(2).term]).toEqual([[2], term]);
  });

  it("elects, again and again, one whom it knows by hearsay only: 5 speaks to 4 alone, and 4 to everybody", () => {
    const cuts = [1, 2, 3].flatMap((peer) => [`cut 5>${peer}`, `cut ${peer}>4`]);
    const { world } = elect("zab", { nodes: 5, settings: { maxNotificationMs: 400 } }, cuts, { maxMs: 60_000 });
    expect(world.leaders()).toEqual([]);
  });

  it("keeps its promises in 500 drawn worlds", { timeout: 60_000 }, () => {
    const findings = Array.from({ length: 500 }, (_, index) => huntProtocol("zab", index + 1)).filter(
      ({ violation }) => violation,
    );
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });
});

it("a state is plain data", () => {
  const world = new ProtocolWorld(specOf("zab", { nodes: 3 }));
  world.runTo(300);
  const state = world.member(3).state as ZabState;
  expect(structuredClone(state)).toEqual(state);
});
