// The world for protocols: the same seed gives the same bytes, a copy goes on as the original, partitions cut what they say, disks lose what was not synced.
import { describe, expect, it } from "vitest";
import { createRng, bully, type BullyState } from "conclave/protocols";
import {
  huntProtocol,
  INVARIANTS,
  PARTITION_NAMES,
  parseAction,
  parseLatency,
  formatAction,
  formatLatency,
  ProtocolWorld,
  specOf,
  subjectNamed,
  SUBJECTS,
} from "conclave/simulator";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { drawLatency } from "../../../src/simulator/kernel/latency.ts";
import { Links } from "../../../src/simulator/protocols/links.ts";
import { Disk } from "../../../src/simulator/kernel/disk.ts";
import { cutsOf } from "../../../src/simulator/protocols/partitions.ts";

describe.each(SUBJECTS.map(({ node }) => node.name))("%s", (name) => {
  it("runs the same from the same seed, written down or not", () => {
    for (const seed of [1, 2, 3]) {
      const first = huntProtocol(name, seed, { isRecorded: true });
      expect(JSON.stringify(huntProtocol(name, seed, { isRecorded: true }).trace)).toBe(JSON.stringify(first.trace));
      expect(huntProtocol(name, seed).hash).toBe(first.hash);
    }
  });

  it("can be copied at any event: the copy and the original go on alike", () => {
    const links = { latency: parseLatency("exp:1ms+5ms"), lossChance: 0.05, duplicateChance: 0.05, isFifo: false };
    const begin = (): ProtocolWorld => {
      const spec = specOf(name, { nodes: 5, seed: 3, links, diskLatency: parseLatency("0.1ms-3ms"), writeEveryMs: 20 });
      const world = new ProtocolWorld(spec, { isRecorded: true });
      if (Object.hasOwn(world.subject.commands, "campaign"))
        world.apply({ type: "tell", node: 1, command: "campaign", argument: 0 });
      return world;
    };
    const original = begin();
    for (let event = 0; event < 200 && original.step(); event++) {
      const copy = original.fork();
      // What is done to a copy is not done to the original.
      copy.apply({ type: "crash", node: 5 });
      copy.runTo(copy.nowMs + 100);
      if (event % 20 !== 0) continue;
      const [one, other] = [original.fork(), original.fork()];
      for (const world of [one, other]) {
        world.apply({ type: "crash", node: 1 });
        world.apply({ type: "restart", node: 1 });
        world.runTo(original.nowMs + 300);
      }
      expect(JSON.stringify(one.trace.events)).toBe(JSON.stringify(other.trace.events));
      expect(one.trace.hash.text()).toBe(other.trace.hash.text());
    }
    const alone = begin();
    for (let event = 0; event < 200 && alone.step(); event++);
    expect(JSON.stringify(alone.trace.events)).toBe(JSON.stringify(original.trace.events));
  });

  it("names the invariants, timers and messages that it has", () => {
    const { node, invariants } = subjectNamed(name);
    const names = invariants.map((invariant) => invariant.name);
    expect(new Set(names).size).toBe(names.length);
    // One question for each name and not for each event, which would take many seconds.
    const [sent, timers] = [new Set<string>(), new Set<string>()];
    for (const seed of [1, 2, 3, 4, 5])
      for (const event of huntProtocol(name, seed, { isRecorded: true }).trace) {
        if (event.type === "send") sent.add(event.message.type);
        if (event.type === "timer") timers.add(event.timer);
      }
    expect(node.messageTypes).toEqual(expect.arrayContaining([...sent]));
    expect(node.timers).toEqual(expect.arrayContaining([...timers]));
  });
});

describe("a partition", () => {
  const seen = (how: string, nodes: number, seed: number): number[] => {
    const cuts = cutsOf(how, nodes, [2], createRng(seed));
    return Array.from({ length: nodes }, (_, index) => nodes - cuts.filter(({ from }) => from === index + 1).length);
  };
  const sorted = (how: string, nodes: number, seed: number): number[] =>
    seen(how, nodes, seed).toSorted((a, b) => a - b);

  it.each([1, 2, 3, 4, 5])("cuts what its name says (seed %i)", (seed) => {
    expect(sorted("one", 5, seed)).toEqual([1, 4, 4, 4, 4]);
    expect(sorted("majority", 5, seed)).toEqual([2, 2, 3, 3, 3]);
    expect(sorted("minority-third", 7, seed)).toEqual([2, 2, 5, 5, 5, 5, 5]);
    expect(seen("majorities-ring", 5, seed)).toEqual([3, 3, 3, 3, 3]);
    expect(sorted("bridge", 5, seed)).toEqual([3, 3, 3, 3, 5]);
    expect(seen("primaries", 5, seed)).toEqual([4, 1, 4, 4, 4]);
    expect(seen("random-halves", 6, seed)).toEqual([3, 3, 3, 3, 3, 3]);
  });

  it("of a ring shows no two members the same majority", () => {
    const cuts = cutsOf("majorities-ring", 5, [], createRng(1));
    const views = [1, 2, 3, 4, 5].map((id) =>
      [1, 2, 3, 4, 5].filter((to) => !cuts.some((cut) => cut.from === id && cut.to === to)).join(),
    );
    expect(new Set(views).size).toBe(5);
  });

  it("can be written out, one way too", () => {
    expect(seen("1,2/3,4,5", 5, 1)).toEqual([2, 2, 3, 3, 3]);
    expect(cutsOf("1>2", 5, [], createRng(1))).toEqual([{ from: 1, to: 2 }]);
    expect(() => cutsOf("1,2/9", 5, [], createRng(1))).toThrow(RangeError);
  });

  it("has a name for each of Jepsen's grudges", () => {
    expect(PARTITION_NAMES).toHaveLength(7);
  });
});

describe("a link", () => {
  it("of a member that does not exist is an error, and not another member's", () => {
    const world = new ProtocolWorld(specOf("bully", { nodes: 3 }));
    for (const type of ["cut", "mend", "hold", "release"] as const)
      expect(() => world.apply({ type, from: 1, to: 6 })).toThrow(RangeError);
  });

  it("that is held delivers when it is released, and not before", () => {
    const world = new ProtocolWorld(specOf("bully", { nodes: 3, leader: 3, down: [3] }));
    world.apply({ type: "hold", from: 1, to: 2 });
    world.apply({ type: "tell", node: 1, command: "suspect", argument: 3 });
    world.runTo(15);
    expect(world.member(2).role).toBe("follower");
    world.apply({ type: "release", from: 1, to: 2 });
    world.runTo(26);
    expect(world.member(2).role).toBe("candidate");
  });
});

describe("time on a link", () => {
  it.each([
    ["10ms", 10, 0],
    ["5ms-15ms", 10, 0.2],
    ["exp:2ms+8ms", 10, 0.4],
    ["lan", 0.6, 0.02],
    ["wan", 37, 1],
  ])("%s has the mean that it says", (text, meanMs, withinMs) => {
    const rng = createRng(1);
    const latency = parseLatency(text);
    let sum = 0;
    for (let draw = 0; draw < 20_000; draw++) sum += drawLatency(rng, latency);
    expect(Math.abs(sum / 20_000 - meanMs)).toBeLessThanOrEqual(withinMs + 1e-9);
    expect(formatLatency(latency)).toBe(text);
  });

  const arrivals = (isFifo: boolean): number[] => {
    const links = new Links(2, createRng(3), {
      latency: parseLatency("0.5ms-20ms"),
      lossChance: 0,
      duplicateChance: 0,
      isFifo,
    });
    return Array.from({ length: 50 }, (_, nowMs) => links.arrivalMs(1, 2, nowMs));
  };

  it("keeps the order of messages where it is asked to, and not otherwise", () => {
    const isInOrder = (times: number[]): boolean =>
      times.every((atMs, index) => index === 0 || atMs > (times[index - 1] ?? 0));
    expect(isInOrder(arrivals(true))).toBe(true);
    expect(isInOrder(arrivals(false))).toBe(false);
  });

  it("loses and doubles the share of messages that it says", () => {
    const links = new Links(2, createRng(4), {
      latency: parseLatency("1ms"),
      lossChance: 0.1,
      duplicateChance: 0.2,
      isFifo: false,
    });
    const fates = Array.from({ length: 20_000 }, () => links.fateOf(1, 2));
    expect(fates.filter((fate) => fate === "lost").length / 20_000).toBeCloseTo(0.1, 1.5);
    expect(fates.filter((fate) => fate === "doubled").length / 18_000).toBeCloseTo(0.2, 1.5);
  });
});

describe("a member", () => {
  const settled = (): ProtocolWorld =>
    new ProtocolWorld(specOf("bully", { nodes: 3, leader: 3, settings: { detector: "heartbeat" } }), {
      isRecorded: true,
    });

  it("that is paused does nothing, and does all of it when it resumes", () => {
    const world = settled();
    world.apply({ type: "pause", node: 1 });
    world.apply({ type: "crash", node: 3 });
    world.runTo(400);
    expect(world.leaders()).toEqual([2]);
    expect(world.member(1).leader).toBe(3);
    expect(world.trace.events.filter((event) => event.type === "send" && event.from === 1)).toEqual([]);
    world.apply({ type: "resume", node: 1 });
    world.runTo(500);
    expect(world.member(1).leader).toBe(2);
  });

  it("that crashes forgets everything but its disk, and its timers do not outlive it", () => {
    const world = settled();
    world.apply({ type: "tell", node: 2, command: "campaign", argument: 0 });
    world.runTo(100);
    const { number } = world.member(2).state as BullyState;
    expect(world.member(2).disk.image).toEqual({ number: 1 });
    world.apply({ type: "crash", node: 2 });
    const before = world.trace.events.length;
    world.runTo(1000);
    const after = world.trace.events.slice(before);
    expect(after.filter((event) => event.type === "timer" && event.node === 2)).toEqual([]);
    world.apply({ type: "restart", node: 2 });
    expect(world.member(2).life).toBe(2);
    expect((world.member(2).state as BullyState).number).toBeGreaterThan(1);
    expect(number).toBeGreaterThan(0);
  });

  it("learns of a crash from the perfect detector, unless the crash is over by then", () => {
    const run = (restartMs: number): string => {
      const world = new ProtocolWorld(specOf("bully", { nodes: 3, leader: 3, detectMs: 30 }));
      world.apply({ type: "crash", node: 3 });
      world.runTo(restartMs);
      world.apply({ type: "restart", node: 3 });
      world.runTo(35);
      return world.member(2).role;
    };
    expect(run(34)).toBe("candidate");
    expect(run(1)).toBe("follower");
  });
});

it("a leader that was down from the start comes back as anybody else", () => {
  const world = new ProtocolWorld(specOf("bully", { nodes: 3, leader: 3, down: [3] }));
  world.apply({ type: "tell", node: 1, command: "suspect", argument: 3 });
  world.runTo(500);
  expect(world.agreedLeader()).toBe(2);
  world.apply({ type: "restart", node: 3 });
  expect(world.leaders()).toEqual([2]);
  world.runTo(1000);
  expect(world.agreedLeader()).toBe(3);
});

describe("a disk", () => {
  it("keeps what was synced, and of the rest a first part", () => {
    const images = new Set<unknown>();
    for (let seed = 0; seed < 60; seed++) {
      const disk = new Disk(bully);
      for (const ticket of [1, 2, 3]) disk.accept(ticket, ticket);
      disk.settle();
      const { kept, lost } = disk.crash(createRng(seed), true);
      expect(kept + lost).toBe(2);
      expect(disk.image).toBe(1 + kept);
      images.add(disk.image);
    }
    expect(images).toEqual(new Set([1, 2, 3]));
  });
});

describe("an action", () => {
  it.each([
    "crash 3",
    "restart all",
    "pause leader",
    "resume 2",
    "partition 1,2/3",
    "cut 1>2",
    "release 2>1",
    "heal",
    "heal 1,2/3",
    "latency 5ms-15ms",
    "loss 10%",
    "duplicate 2.5%",
    "tell 1 suspect 5",
    "expire 2 election",
  ])("is written as it is read: %s", (text) => {
    const action = parseAction(text);
    expect(action === undefined ? "" : formatAction(action)).toBe(text);
  });
});

it("docs/INVARIANTS.md names every invariant's file", () => {
  const folder = fileURLToPath(new URL("../../../src/simulator/protocols/", import.meta.url));
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const texts = all.map((file) => [file.replaceAll(path.sep, "/"), readFileSync(path.join(folder, file), "utf8")]);
  const files = INVARIANTS.map(({ name }) => {
    const [file = "", ...others] = texts
      .filter(([, text]) => text?.includes(` name: "${name}",`))
      .map(([file]) => file);
    expect(others, name).toEqual([]);
    return file;
  });
  const page = readFileSync(new URL("../../../docs/INVARIANTS.md", import.meta.url), "utf8");
  expect(new Set(files).size).toBe(INVARIANTS.length);
  expect(files.filter((file) => !page.includes(`\`${file}\``))).toEqual([]);
});
