// Raft's election: a group under faults. Its rules are in raft-vote.test.ts, raft-pre-vote.test.ts and raft-transfer.test.ts, numbers in raft-figures.test.ts,
// partial partitions in raft-topologies.test.ts.
import { describe, expect, it } from "vitest";
import { huntProtocol, ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";
import { createRng } from "conclave/protocols";
import { nextBetween, nextChance } from "../../src/base/rng.ts";

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
