// The master lease: its arithmetic, a replica's word rule by rule, a master's deadline, and exclusion in true time under drift, pauses, crashes and partitions.
import { describe, expect, it } from "vitest";
import { masterLease, type MasterLeaseImage, type MasterLeaseState } from "conclave/protocols";
import { huntProtocol, ProtocolWorld, specOf } from "conclave/simulator";
import { beliefMs, passedBy, promiseMs, reachedBy, waitOf } from "../../src/protocols/master-lease/deadlines.ts";
import { loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

const MARGINS = { leaseMs: 1000, rho: 0.01, grainMs: 5 };
const BELIEF_MS = (1000 * 0.99) / 1.01 - 5;

describe("the arithmetic", () => {
  it("lets a master believe less than it was promised, by both clocks' drift and the grain", () => {
    expect(beliefMs(MARGINS)).toBeCloseTo(BELIEF_MS, 9);
    // The slowest master, by true time, stops no later than the fastest replica frees, each reading as late as it may.
    expect((beliefMs(MARGINS) + 5) / 0.99).toBeLessThanOrEqual((promiseMs(MARGINS) - 5) / 1.01 + 1e-9);
  });

  it.each([0.99, 1, 1.01])("a wait on the fastest clock is long enough after a promise on one of rate %d", (rate) => {
    for (const leftMs of [1, 500, 1000]) {
      const beganMs = (MARGINS.leaseMs - leftMs) / rate;
      expect(beganMs + (waitOf(leftMs, MARGINS) - 5) / 1.01).toBeGreaterThanOrEqual(1000 / 1.01 - 1e-9);
    }
  });

  it("finds what a majority has reached, and what it has passed", () => {
    expect(reachedBy(Float64Array.of(-Infinity, 30, 10, 20), 2)).toBe(20);
    expect(reachedBy(Float64Array.of(-Infinity, 30, -Infinity, -Infinity), 2)).toBe(-Infinity);
    expect(passedBy(Float64Array.of(Infinity, 30, 10, 20), 2)).toBe(20);
    expect(passedBy(Float64Array.of(Infinity, 30, Infinity, Infinity), 2)).toBe(Infinity);
  });
});

const ask = (epoch: number, isForced = false) => ({ type: "ASK", epoch, isForced }) as const;
const renew = (epoch: number, sequence: number) => ({ type: "RENEW", epoch, sequence, leads: true }) as const;

function replica(image?: MasterLeaseImage) {
  const node = loneNode(masterLease, { id: 1, nodes: 5 });
  node.start(image);
  return node;
}

const said = (effects: ReturnType<ReturnType<typeof replica>["start"]>): unknown[] =>
  effects.flatMap((effect) => (effect.type === "send" ? { to: effect.to, ...effect.message } : []));

describe("a replica", () => {
  it("promises when it is on disk, and not again in that epoch", () => {
    const node = replica();
    expect(said(node.receive(2, ask(3)))).toEqual([]);
    expect(said(node.stored(1))).toEqual([{ to: 2, type: "GRANT", epoch: 3, waitMs: 0 }]);
    expect(said(node.receive(4, ask(3, true)))).toEqual([{ to: 4, type: "DENY", epoch: 3, seen: 3 }]);
    expect(said(node.receive(2, ask(3)))).toEqual([]);
  });

  it("is bound for a lease and the grain after receipt, and elects nobody else meanwhile", () => {
    const node = granted();
    node.now = 1004;
    expect(said(node.receive(4, ask(5)))).toEqual([{ to: 4, type: "DENY", epoch: 5, seen: 3 }]);
    node.now = 1005;
    node.receive(4, ask(5));
    expect(said(node.stored(2))).toEqual([{ to: 4, type: "GRANT", epoch: 5, waitMs: 0 }]);
  });

  it("is bound anew by each renewal of its epoch, and refuses one of an earlier", () => {
    const node = granted();
    node.now = 900;
    expect(said(node.receive(2, renew(3, 7)))).toEqual([{ to: 2, type: "RENEWED", epoch: 3, sequence: 7 }]);
    node.now = 1900;
    expect(said(node.receive(4, ask(5)))).toMatchObject([{ type: "DENY" }]);
    expect(said(node.receive(4, renew(2, 1)))).toEqual([{ to: 4, type: "STALE", seen: 3 }]);
  });

  it("when it must break its word, says how long another may still rely on it", () => {
    const node = granted();
    node.now = 400;
    node.receive(4, ask(4, true));
    expect(said(node.stored(2))).toEqual([{ to: 4, type: "GRANT", epoch: 4, waitMs: 605 }]);
  });

  it("says so too to one that asks again, as long as somebody before it may rely on it", () => {
    const node = granted();
    node.now = 400;
    node.receive(4, ask(4, true));
    node.stored(2);
    node.now = 500;
    node.receive(4, ask(5));
    expect(said(node.stored(3))).toEqual([{ to: 4, type: "GRANT", epoch: 5, waitMs: 505 }]);
  });

  it("is free when the holder gives its promise back, of that epoch", () => {
    const node = granted();
    node.receive(2, { type: "RELEASE", epoch: 2 });
    expect(said(node.receive(4, ask(4)))).toMatchObject([{ type: "DENY" }]);
    node.receive(2, { type: "RELEASE", epoch: 3 });
    node.receive(4, ask(5));
    expect(said(node.stored(2))).toEqual([{ to: 4, type: "GRANT", epoch: 5, waitMs: 0 }]);
  });

  it("in a new life is bound for a full lease, and makes the node that it grants to wait as long", () => {
    const node = replica({ epoch: 3, holder: 2 });
    node.now = 100;
    expect(said(node.receive(4, ask(4)))).toMatchObject([{ type: "DENY" }]);
    node.receive(2, ask(5));
    expect(said(node.stored(1))).toEqual([{ to: 2, type: "GRANT", epoch: 5, waitMs: 905 }]);
  });

  it("follows a node that renews in a later epoch, when that is on disk", () => {
    const node = granted();
    expect(said(node.receive(4, renew(6, 2)))).toEqual([]);
    expect(said(node.stored(2))).toEqual([{ to: 4, type: "RENEWED", epoch: 6, sequence: 2 }]);
  });

  function granted() {
    const node = replica();
    node.receive(2, ask(3));
    node.stored(1);
    return node;
  }
});

describe("a master", () => {
  it("has its own promise on disk before it asks", () => {
    const node = replica();
    expect(said(node.expire("stand"))).toEqual([]);
    expect(said(node.stored(1))).toContainEqual({ to: 5, ...ask(1) });
  });

  it("believes from the send of the question, whenever the answers come, and not a millisecond longer", () => {
    const node = leading();
    node.now = 100 + BELIEF_MS - 0.001;
    expect(masterLease.leads?.(node.state, node.now)).toBe(true);
    node.now = 100 + BELIEF_MS;
    expect(masterLease.leads?.(node.state, node.now)).toBe(false);
  });

  it("is extended by what a majority has proven, from that renewal's send", () => {
    const node = leading();
    node.now = 350;
    node.expire("renew");
    node.now = 600;
    node.expire("renew");
    node.now = 700;
    node.receive(2, { type: "RENEWED", epoch: 1, sequence: 3 });
    expect(node.state.tenure?.deadline).toBeCloseTo(100 + BELIEF_MS, 9);
    node.receive(3, { type: "RENEWED", epoch: 1, sequence: 2 });
    expect(node.state.tenure?.deadline).toBeCloseTo(350 + BELIEF_MS, 9);
  });

  it("is not revived by a proof that comes when its lease is over", () => {
    const node = leading();
    node.now = 350;
    node.expire("renew");
    node.receive(2, { type: "RENEWED", epoch: 1, sequence: 2 });
    node.now = 100 + BELIEF_MS;
    const effects = node.receive(3, { type: "RENEWED", epoch: 1, sequence: 2 });
    expect(said(effects)).toContainEqual({ to: 2, type: "RELEASE", epoch: 1 });
    expect(node.state.tenure).toBeUndefined();
  });

  it("waits until of a majority nobody else can rely on any", () => {
    const node = asking();
    node.now = 150;
    node.receive(2, { type: "GRANT", epoch: 1, waitMs: 700 });
    node.receive(3, { type: "GRANT", epoch: 1, waitMs: 300 });
    expect(node.state.tenure).toMatchObject({ phase: "waiting", startsAt: 150 + 705 });
    node.receive(4, { type: "GRANT", epoch: 1, waitMs: 0 });
    expect(node.state.tenure).toMatchObject({ phase: "waiting", startsAt: 150 + 305 });
    node.now = 455;
    expect(node.expire("begin")).toContainEqual({ type: "announce", role: "leader", leader: 1, term: 1 });
  });

  it("takes no answer to another epoch's question, and gives back what it will not use", () => {
    const node = asking();
    for (const peer of [2, 3, 4]) node.receive(peer, { type: "GRANT", epoch: 9, waitMs: 0 });
    expect(node.state.tenure?.phase).toBe("asking");
    expect(said(node.expire("attempt"))).toContainEqual({ to: 3, type: "RELEASE", epoch: 1 });
  });

  it("asks anew, in a later epoch, when a replica is in one", () => {
    const node = leading();
    const effects = node.receive(5, { type: "STALE", seen: 8 });
    expect(effects).toContainEqual({ type: "persist", ticket: 2, write: { epoch: 9, holder: 1 } });
    expect(masterLease.leads?.(node.state, node.now)).toBe(false);
  });

  it("stops when it is asked to promise to another", () => {
    const node = leading();
    node.receive(4, ask(2, true));
    expect(masterLease.leads?.(node.state, node.now)).toBe(false);
    expect(said(node.stored(2))).toMatchObject([{ to: 4, type: "GRANT", epoch: 2 }]);
  });

  function asking() {
    const node = replica();
    node.expire("stand");
    node.now = 100;
    node.stored(1);
    return node;
  }

  function leading() {
    const node = asking();
    node.now = 180;
    for (const peer of [2, 3]) node.receive(peer, { type: "GRANT", epoch: 1, waitMs: 0 });
    expect(node.state.tenure?.phase).toBe("leading");
    return node;
  }
});

describe("a group", () => {
  it("keeps its master, and its epoch, while nothing happens", () => {
    const world = new ProtocolWorld(specOf("master-lease", { nodes: 5, leader: 2 }));
    world.runTo(60_000);
    expect([world.leaders(), world.member(2).term, world.violations]).toEqual([[2], 1, []]);
  });

  it("has another master soon after a lease when the master is cut off, and never two", () => {
    const lines = ["500ms partition 2/1,3,4,5"];
    const { world } = elect("master-lease", { nodes: 5, leader: 2 }, lines, { maxMs: 3000 });
    expect(world.leaders()).toHaveLength(1);
    expect(world.leaders()).not.toEqual([2]);
    expect(world.violations).toEqual([]);
  });

  it("has no master without a majority", () => {
    const { world } = elect("master-lease", { nodes: 5, down: [1, 2, 3] }, [], { maxMs: 10_000 });
    expect(world.leaders()).toEqual([]);
  });

  it("has two masters when a clock drifts more than was allowed for", () => {
    // 3 is slow: when its lease is over by its own clock, the replicas have been free for long.
    const clockRates = [1, 1, 0.5];
    const spec = specOf("master-lease", { nodes: 3, leader: 3, clockRates, settings: { spreadMs: 10 } });
    const world = new ProtocolWorld(spec);
    world.runTo(100);
    world.apply({ type: "partition", how: "3/1,2" });
    world.runTo(3000);
    expect(world.violations).toMatchObject([{ invariant: "exclusive-leader" }]);
  });

  it("keeps its promises in 500 drawn worlds", { timeout: 60_000 }, () => {
    const findings = Array.from({ length: 500 }, (_, index) => huntProtocol("master-lease", index + 1)).filter(
      ({ violation }) => violation,
    );
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });
});

it("a state is plain data", () => {
  const world = new ProtocolWorld(specOf("master-lease", { nodes: 3 }));
  world.runTo(1000);
  const state = world.member(world.leaders()[0] ?? 1).state as MasterLeaseState;
  expect(structuredClone(state)).toEqual(state);
});
