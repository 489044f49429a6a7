// What the two ring algorithms have in common: rounds, repair of the ring, restarts, partition. Their counts are in chang-roberts.test.ts and lelann.test.ts.
import { describe, expect, it } from "vitest";
import { changRoberts, lelann, type RingState } from "conclave/protocols";
import { huntProtocol, ProtocolWorld, specOf } from "conclave/simulator";
import { type Effect, loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

const listening = { detector: "heartbeat" };
const election = (round: number, id: number, attr = id) => ({ type: "ELECTION", round, id, attr }) as const;
const elected = (round: number, id: number, attr = id) => ({ type: "ELECTED", round, id, attr }) as const;
const sends = <Sent extends { type: string }, Write>(effects: readonly Effect<Sent, Write>[]) =>
  effects.flatMap((effect) => (effect.type === "send" ? [{ to: effect.to, ...effect.message }] : []));

describe.each([
  ["chang-roberts", changRoberts],
  ["lelann", lelann],
] as const)("%s: a node", (_name, protocol) => {
  const fresh = (id = 2, settings = {}) => {
    const node = loneNode(protocol, { id, nodes: 4, settings });
    node.start();
    node.stored(0);
    return node;
  };

  it("sends nothing of a round that is not on its disk", () => {
    const node = fresh();
    expect(sends(node.command({ type: "campaign" }))).toEqual([]);
    expect(sends(node.receive(1, election(1, 4)))).toEqual([]);
    expect(sends(node.stored(1))).toEqual([
      { to: 3, ...election(1, 2) },
      { to: 3, ...election(1, 4) },
    ]);
  });

  it("drops what belongs to an older round", () => {
    const node = fresh();
    node.receive(1, election(7, 4));
    node.stored(7);
    expect(node.receive(1, election(6, 3))).toEqual([]);
    expect(node.receive(1, elected(6, 3))).toEqual([]);
    expect(node.receive(1, election(6, 2))).toEqual([]);
    expect(node.state).toMatchObject({ phase: "running", round: 7 });
  });

  it("leaves whatever the last round left behind when a newer one comes: flag, best, unsent messages, leadership", () => {
    const node = fresh(4);
    node.command({ type: "campaign" });
    node.stored(1);
    node.receive(3, election(1, 4));
    expect(node.state.phase).toBe("leading");
    expect(node.receive(3, election(2, 1))).toContainEqual({ type: "announce", role: "candidate", leader: 0, term: 2 });
    expect(node.state).toMatchObject({ phase: "running", leader: 0, round: 2, isParticipant: true });
    expect(sends(node.stored(2))[0]).toEqual({ to: 1, ...election(2, 4) });
  });

  it("is elected by its own token, once", () => {
    const node = fresh(4);
    node.command({ type: "campaign" });
    node.stored(1);
    expect(sends(node.receive(3, election(1, 4)))).toEqual([{ to: 1, ...elected(1, 4) }]);
    expect(node.receive(3, election(1, 4))).toEqual([]);
    expect(node.receive(3, elected(1, 4))).toEqual([]);
  });

  it("is in no round of an earlier life: its old token does not elect it", () => {
    const node = loneNode(protocol, { id: 4, nodes: 4 });
    node.start({ round: 5 });
    node.stored(5);
    expect(node.receive(3, election(5, 4))).toEqual([]);
    expect(node.receive(3, election(5, 2))).toEqual([]);
    expect(node.receive(3, elected(5, 3))).toEqual([]);
    expect(node.state).toMatchObject({ phase: "waiting", round: 5 });
  });

  it("that has lost its disk is not elected by a token that it does not remember, and goes on from there", () => {
    const node = fresh(4);
    expect(node.receive(3, election(9, 4))).toEqual([]);
    expect(node.receive(3, elected(9, 4))).toEqual([]);
    node.command({ type: "campaign" });
    expect(node.state.round).toBe(10);
  });

  it("passes ELECTED on, once", () => {
    const node = fresh();
    node.receive(1, election(1, 4));
    node.stored(1);
    expect(sends(node.receive(1, elected(1, 4)))).toEqual([{ to: 3, ...elected(1, 4) }]);
    expect(node.receive(1, elected(1, 4))).toEqual([]);
    expect(node.state).toMatchObject({ phase: "following", leader: 4 });
  });

  it("that is better than the elected begins a new round", () => {
    const node = fresh(3);
    node.receive(2, elected(4, 1));
    expect(node.state).toMatchObject({ phase: "running", round: 5 });
  });

  it("does not follow one that it knows to be dead", () => {
    const node = fresh(2);
    node.command({ type: "suspect", node: 4 });
    node.receive(1, elected(1, 4));
    expect(node.state).toMatchObject({ phase: "running", round: 2 });
  });

  it("skips dead successors, down to itself", () => {
    const node = fresh(2);
    node.command({ type: "campaign" });
    node.stored(1);
    for (const dead of [3, 4]) node.command({ type: "suspect", node: dead });
    expect(sends(node.stored(node.state.round))).toEqual([{ to: 1, ...election(3, 2) }]);
    node.command({ type: "suspect", node: 1 });
    expect(sends(node.stored(node.state.round))).toEqual([{ to: 2, ...election(4, 2) }]);
    expect(node.receive(2, election(4, 2))).toContainEqual({ type: "announce", role: "leader", leader: 2, term: 4 });
  });

  it("begins a new round when the would-be leader dies, wherever in the ring", () => {
    const node = fresh(1);
    node.receive(4, election(1, 3));
    node.stored(1);
    node.command({ type: "suspect", node: 3 });
    expect(node.state).toMatchObject({ round: 2, successor: 2, phase: "running" });
  });

  it("changes its successor and nothing else when a member of no importance dies after the election", () => {
    const node = fresh(1);
    node.receive(4, elected(1, 4));
    node.command({ type: "suspect", node: 2 });
    expect(node.state).toMatchObject({ phase: "following", round: 1, successor: 3 });
  });

  it("without a detector asks its successor when a round hangs, and begins a new one if that does not help", () => {
    const node = fresh(1);
    node.command({ type: "campaign" });
    node.stored(1);
    expect(sends(node.expire("round"))).toEqual([{ to: 2, type: "PROBE" }]);
    node.receive(2, { type: "ALIVE", round: 1 });
    expect(node.state.round).toBe(1);
    node.expire("round");
    expect(node.state.round).toBe(2);
    node.stored(2);
    node.expire("round");
    node.expire("silence");
    expect(node.state).toMatchObject({ round: 3, successor: 3 });
  });

  it("takes back whom it hears, though it was believed dead", () => {
    const node = fresh(1, listening);
    node.command({ type: "suspect", node: 2 });
    expect(node.state.successor).toBe(3);
    expect(sends(node.expire("probe"))).toEqual([
      { to: 2, type: "PROBE" },
      { to: 3, type: "PROBE" },
    ]);
    node.receive(2, { type: "ALIVE", round: 8 });
    expect(node.state).toMatchObject({ successor: 2, phase: "running", round: 9 });
  });

  it("says that it is back when it has been here before, and waits for its predecessor to ask", () => {
    const node = loneNode(protocol, { id: 2, nodes: 3 });
    expect(sends(node.start({ round: 3 }))).toEqual([
      { to: 3, type: "BACK" },
      { to: 1, type: "BACK" },
    ]);
    expect(sends(loneNode(protocol, { id: 2, nodes: 3 }).start())).toEqual([]);
  });

  it("begins a new round when its successor is back, and leaves that to others when it is not the next", () => {
    const [before, other] = [fresh(1), fresh(2)];
    for (const node of [before, other]) node.receive(4, elected(1, 4));
    before.receive(2, { type: "BACK" });
    other.receive(1, { type: "BACK" });
    expect(before.state).toMatchObject({ phase: "running", round: 2 });
    expect(other.state).toMatchObject({ phase: "following", round: 1 });
  });

  it("counts no silence of a successor's earlier life", () => {
    const node = fresh(1, listening);
    node.now = 149;
    node.receive(2, { type: "BACK" });
    node.now = 150;
    node.expire("silence");
    expect(node.state.dead.size).toBe(0);
  });
});

describe.each(["chang-roberts", "lelann"])("%s: a group", (name) => {
  it("elects the best attribute, and of equal ones the greater id", () => {
    const attributes = [80, 20, 80, 10, 5];
    for (const initiator of [1, 2, 3, 4, 5]) {
      const { result } = elect(name, { nodes: 5, attributes }, [`tell ${initiator} campaign`]);
      expect(result).toMatchObject({ leader: 3, violations: [] });
    }
  });

  it("elects the best that is up, whichever node begins", () => {
    const attributes = [1, 9, 3, 9, 7];
    for (const initiator of [1, 3, 5]) {
      const { result } = elect(name, { nodes: 5, attributes, leader: 4, down: [2, 4] }, [`tell ${initiator} campaign`]);
      expect(result).toMatchObject({ leader: 5, violations: [] });
    }
  });

  it("outlives the would-be leader, at whatever moment it dies", () => {
    for (const settings of [{}, listening])
      for (let atMs = 1; atMs <= 161; atMs += 5) {
        const { result } = elect(name, { nodes: 5, leader: 5, settings }, [
          "tell 1 campaign",
          `${atMs}ms crash 5`,
          // Without a detector nobody notices the death of a leader that has been elected.
          "200ms tell 2 suspect 5",
        ]);
        expect(result).toMatchObject({ leader: 4, violations: [] });
      }
  });

  it("outlives the death of any two at any moment", () => {
    for (let first = 1; first <= 5; first++)
      for (let second = 1; second <= 5; second++)
        for (const atMs of [5, 25, 45, 65, 85, 105]) {
          const lines = ["tell 1 campaign", `${atMs}ms crash ${first}`, `${atMs + 7}ms crash ${second}`];
          const { result } = elect(name, { nodes: 5, settings: listening }, lines);
          const best = [5, 4, 3].find((id) => id !== first && id !== second);
          expect([lines, result.leader, result.violations]).toEqual([lines, best, []]);
        }
  });

  it("is led by the best again when it comes back, before anybody noticed or after", () => {
    for (const settings of [{}, listening])
      for (const backMs of [151, 155, 170, 600]) {
        const lines = ["tell 2 campaign", "150ms crash 5", `${backMs}ms restart 5`];
        const { result } = elect(name, { nodes: 5, settings }, lines, { maxMs: 3000 });
        expect(result).toMatchObject({ leader: 5, violations: [] });
      }
  });

  it("takes in one that was down from the start, when that begins a round", () => {
    const { result } = elect(name, { nodes: 5, leader: 4, down: [5] }, [
      "tell 1 campaign",
      "1s restart 5",
      "1100ms tell 5 campaign",
    ]);
    expect(result).toMatchObject({ leader: 5, violations: [] });
  });

  it("is led by one that is alone", () => {
    const { result } = elect(name, { nodes: 3, down: [2, 3], settings: listening }, ["tell 1 campaign"]);
    expect(result).toMatchObject({ leader: 1, violations: [] });
    expect(elect(name, { nodes: 1 }, ["tell 1 campaign"]).result).toMatchObject({ leader: 1, messages: { total: 0 } });
  });

  it("keeps its promises in 500 drawn worlds of crashes and restarts", { timeout: 60_000 }, () => {
    const findings = Array.from({ length: 500 }, (_, index) => huntProtocol(name, index + 1)).filter(
      ({ violation }) => violation,
    );
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });

  it("splits under partition: the ring closes on each side, and each elects", () => {
    const { world } = elect(name, { nodes: 5, leader: 5, settings: listening }, ["50ms partition 1,2,3/4,5"], {
      maxMs: 1500,
    });
    expect(world.leaders()).toEqual([3, 5]);
    expect(world.violations).toMatchObject([{ invariant: "exclusive-leader" }]);
    world.apply({ type: "heal" });
    world.runTo(world.nowMs + 1000);
    expect(world.agreedLeader()).toBe(5);
  });

  it("splits by a wrong suspicion too: a live leader that is skipped hears nothing", () => {
    const { world } = elect(name, { nodes: 5, leader: 5 }, ["tell 4 suspect 5"]);
    expect(world.leaders()).toEqual([4, 5]);
    expect(world.violations.map(({ invariant }) => invariant)).toContain("exclusive-leader");
  });

  it.each([true, false])("writes over itself when split, unless the resource compares tokens (%s)", (isFenced) => {
    const spec = specOf(name, { nodes: 5, leader: 5, settings: listening, writeEveryMs: 40, isFenced });
    const world = new ProtocolWorld(spec);
    world.runTo(50);
    world.apply({ type: "partition", how: "1,2,3/4,5" });
    world.runTo(1500);
    world.judgeAtRest();
    expect(world.leaders()).toEqual([3, 5]);
    expect(world.resource.refused > 0).toBe(isFenced);
    expect(world.resource.stale > 0).toBe(!isFenced);
    expect(world.violations.some(({ invariant }) => invariant === "fenced-writes")).toBe(!isFenced);
  });

  it("has plain data as its nodes' state", () => {
    const world = new ProtocolWorld(specOf(name, { nodes: 3, settings: { detector: "phi" } }));
    world.runTo(300);
    const state = world.member(1).state as RingState;
    expect(structuredClone(state)).toEqual(state);
  });
});
