// Bully: its counts, its rules one by one, its promises under crashes, and what it does not promise.
import { describe, expect, it } from "vitest";
import { bully, type BullyState } from "conclave/protocols";
import { huntProtocol, ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";
import { loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

describe("the cost of an election, when the greatest of N is dead", () => {
  it.each([3, 4, 5, 7, 9, 20])("in the worst case with %i: the least notices", (N) => {
    const { result } = elect("bully", { nodes: N, leader: N, down: [N] }, [`tell 1 suspect ${N}`]);
    expect(result.messages.byType).toEqual({
      ELECTION: (N * (N - 1)) / 2,
      OK: ((N - 1) * (N - 2)) / 2,
      COORDINATOR: N - 2,
    });
    expect(result.messages.total).toBe(N ** 2 - N - 1);
    expect(result).toMatchObject({ leader: N - 1, violations: [] });
  });

  it.each([3, 5, 7, 9])("in the best case with %i: the second notices", (N) => {
    const { result } = elect("bully", { nodes: N, leader: N, down: [N] }, [`tell ${N - 1} suspect ${N}`]);
    expect(result.messages.byType).toEqual({ ELECTION: 1, COORDINATOR: N - 2 });
    expect(result).toMatchObject({ leader: N - 1, violations: [] });
  });

  it("is the same whatever the delays, as long as they keep to the bound", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const links = { latency: uniformLatency(1, 10), lossChance: 0, duplicateChance: 0, isFifo: true };
      const { result } = elect("bully", { nodes: 7, seed, links, leader: 7, down: [7] }, ["tell 1 suspect 7"]);
      expect(result).toMatchObject({ leader: 6, violations: [] });
      expect(result.messages.byType["COORDINATOR"]).toBe(5);
    }
  });
});

describe("a node", () => {
  it("answers a lesser id and begins an election of its own, once", () => {
    const node = loneNode(bully, { id: 2, nodes: 3, leader: 3 });
    node.start();
    const first = node.receive(1, { type: "ELECTION", number: 4 });
    expect(first).toContainEqual({ type: "send", to: 1, message: { type: "OK", number: 4, seen: 4 } });
    expect(first).toContainEqual({ type: "persist", ticket: 5, write: { number: 5 } });
    const second = node.receive(1, { type: "ELECTION", number: 4 });
    expect(second).toEqual([{ type: "send", to: 1, message: { type: "OK", number: 4, seen: 5 } }]);
  });

  it("sends no election number that is not on its disk", () => {
    const node = loneNode(bully, { id: 2, nodes: 3, leader: 3 });
    node.start({ number: 9 });
    expect(node.command({ type: "suspect", node: 3 }).filter(({ type }) => type === "send")).toEqual([]);
    expect(node.stored(10)).toContainEqual({ type: "send", to: 3, message: { type: "ELECTION", number: 10 } });
  });

  it("that is the greatest of all asks nobody, and announces itself at once", () => {
    const node = loneNode(bully, { id: 3, nodes: 3 });
    node.start();
    expect(node.stored(1).filter(({ type }) => type === "send" || type === "set")).toEqual(
      [1, 2].map((to) => ({ type: "send", to, message: { type: "COORDINATOR", number: 1 } })),
    );
  });

  it("waits for an answer as long as two messages take, and for a coordinator as long as the node that answered may need", () => {
    const node = asking();
    const coordinator = node.receive(3, { type: "OK", number: node.state.election, seen: 0 });
    expect(node.state.answerTimeoutMs).toBe(22);
    expect(coordinator).toContainEqual({ type: "set", timer: "coordinator", afterMs: 44, subject: 0 });
  });

  it("learns from an OK how far the numbers have come", () => {
    const node = asking();
    node.receive(3, { type: "OK", number: node.state.election, seen: 9 });
    expect(node.expire("coordinator")).toContainEqual({ type: "persist", ticket: 10, write: { number: 10 } });
  });

  it("announces itself only if no greater id answered in time", () => {
    const node = asking();
    node.receive(3, { type: "OK", number: node.state.election, seen: 0 });
    expect(node.expire("answer")).toEqual([]);
    expect(node.state.phase).toBe("yielding");
  });

  it("is not stopped by a late OK of an earlier election", () => {
    const node = asking();
    node.receive(3, { type: "OK", number: node.state.election - 1, seen: 0 });
    expect(node.state.phase).toBe("asking");
    expect(node.expire("answer")).toContainEqual({
      type: "announce",
      role: "leader",
      leader: 2,
      term: node.state.number,
    });
  });

  it("begins again when the node that answered does not announce itself", () => {
    const node = asking();
    const { election } = node.state;
    node.receive(3, { type: "OK", number: election, seen: 0 });
    expect(node.expire("coordinator")).toContainEqual({
      type: "persist",
      ticket: election + 1,
      write: { number: election + 1 },
    });
  });

  it("bullies a lesser id that announces itself", () => {
    const node = loneNode(bully, { id: 2, nodes: 3, leader: 3 });
    node.start();
    node.receive(1, { type: "COORDINATOR", number: 7 });
    expect(node.state).toMatchObject({ phase: "preparing", number: 8 });
  });

  it("answers a question that is older than its leader without an election of its own, and tells what number it would take", () => {
    const node = loneNode(bully, { id: 2, nodes: 3 });
    node.start();
    node.receive(3, { type: "COORDINATOR", number: 5 });
    expect(node.receive(1, { type: "ELECTION", number: 5 })).toEqual([
      { type: "send", to: 1, message: { type: "OK", number: 5, seen: 5 } },
    ]);
    expect(node.receive(1, { type: "ELECTION", number: 6 })).toContainEqual({
      type: "persist",
      ticket: 7,
      write: { number: 7 },
    });
  });

  it("when it leads, tells an asker who did not know it, and nobody else", () => {
    const node = loneNode(bully, { id: 3, nodes: 3 });
    node.start();
    node.stored(1);
    expect(node.receive(1, { type: "ELECTION", number: 1 })).toEqual([
      { type: "send", to: 1, message: { type: "OK", number: 1, seen: 1 } },
      { type: "send", to: 1, message: { type: "COORDINATOR", number: 1 } },
    ]);
  });

  it("ignores an old announcement of its own leader too: otherwise a lesser one's would look newer", () => {
    const node = loneNode(bully, { id: 1, nodes: 3 });
    node.start();
    node.receive(3, { type: "COORDINATOR", number: 8 });
    node.receive(3, { type: "COORDINATOR", number: 1 });
    node.receive(2, { type: "COORDINATOR", number: 7 });
    expect(node.state).toMatchObject({ leader: 3, leaderNumber: 8 });
  });

  it("ignores an old announcement that a newer one has overtaken", () => {
    const node = loneNode(bully, { id: 1, nodes: 3 });
    node.start();
    node.receive(3, { type: "COORDINATOR", number: 5 });
    node.receive(2, { type: "COORDINATOR", number: 4 });
    expect(node.state.leader).toBe(3);
    node.receive(2, { type: "COORDINATOR", number: 6 });
    expect(node.state.leader).toBe(2);
  });

  function asking() {
    const node = loneNode(bully, { id: 2, nodes: 3, leader: 3 });
    node.start({ number: 1 });
    node.command({ type: "suspect", node: 3 });
    node.stored(2);
    expect(node.state.phase).toBe("asking");
    return node;
  }
});

describe("a group", () => {
  it("begins again when the winner dies after its OK", () => {
    const { result } = elect("bully", { nodes: 5, leader: 5, down: [5] }, ["tell 1 suspect 5", "25ms crash 4"]);
    expect(result).toMatchObject({ leader: 3, violations: [] });
  });

  it("is led by the greatest again when it comes back", () => {
    const { result } = elect("bully", { nodes: 5, leader: 5 }, ["crash 5", "1ms tell 2 suspect 5", "500ms restart 5"]);
    expect(result).toMatchObject({ leader: 5, violations: [] });
  });

  it("keeps its promises in 500 drawn worlds of crashes and restarts", { timeout: 60_000 }, () => {
    const findings = Array.from({ length: 500 }, (_, index) => huntProtocol("bully", index + 1)).filter(
      ({ violation }) => violation,
    );
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });

  it("splits under partition, each side with its own leader", () => {
    const settings = { detector: "heartbeat" };
    const { world } = elect("bully", { nodes: 5, leader: 5, settings }, ["50ms partition 1,2,3/4,5"], { maxMs: 800 });
    expect(world.leaders()).toEqual([3, 5]);
    expect(world.violations).toMatchObject([{ invariant: "one-leader" }]);
  });

  it.each([true, false])("writes over itself when split, unless the resource compares tokens (%s)", (isFenced) => {
    const settings = { detector: "heartbeat" };
    const spec = specOf("bully", { nodes: 5, leader: 5, settings, writeEveryMs: 40, isFenced });
    const world = new ProtocolWorld(spec);
    world.runTo(50);
    world.apply({ type: "partition", how: "1,2,3/4,5" });
    world.runTo(1000);
    world.judgeAtRest();
    expect(world.leaders()).toEqual([3, 5]);
    expect(world.resource.refused > 0).toBe(isFenced);
    expect(world.resource.stale > 0).toBe(!isFenced);
    expect(world.violations.some(({ invariant }) => invariant === "fenced-writes")).toBe(!isFenced);
  });
});

it("a state is plain data", () => {
  const world = new ProtocolWorld(specOf("bully", { nodes: 3, settings: { detector: "phi" } }));
  world.runTo(300);
  const state = world.member(1).state as BullyState;
  expect(structuredClone(state)).toEqual(state);
});
