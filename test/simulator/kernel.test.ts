// The parts below a world: order of events, hands of a clock, what a network does to messages, and the guard's rule.
import { describe, expect, it } from "vitest";
import { createRng } from "conclave/protocols";
import { VirtualClock } from "../../src/simulator/kernel/clock.ts";
import { Kernel, type KernelEvent } from "../../src/simulator/kernel/kernel.ts";
import { CALM_NETWORK, Network, type NetworkSpec } from "../../src/simulator/kernel/network.ts";

const nobody = { handle: () => {} };

function drain(kernel: Kernel): KernelEvent[] {
  const taken: KernelEvent[] = [];
  for (let event = kernel.take(); event !== undefined; event = kernel.take()) taken.push(event);
  return taken;
}

describe("the kernel", () => {
  it("takes events in order of time, whatever the order they came in", () => {
    const kernel = new Kernel(createRng(1));
    for (const atMs of [5, 1, 4, 2, 3, 0]) kernel.schedule(atMs, nobody, "x");
    expect(drain(kernel).map(({ atMs }) => atMs)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("orders events of one instant by the seed", () => {
    const orderOf = (seed: number): number[] => {
      const kernel = new Kernel(createRng(seed));
      for (let subject = 0; subject < 8; subject++) kernel.schedule(1, nobody, "x", subject);
      return drain(kernel).map(({ subject }) => subject);
    };
    expect(orderOf(1)).toEqual(orderOf(1));
    expect(orderOf(1)).not.toEqual(orderOf(2));
  });

  it("leaves out what was cancelled, and does not go back in time", () => {
    const kernel = new Kernel(createRng(1));
    const cancelled = kernel.schedule(1, nobody, "x");
    kernel.schedule(2, nobody, "y");
    kernel.cancel(cancelled);
    expect(kernel.take()?.kind).toBe("y");
    expect(kernel.schedule(1, nobody, "z").atMs).toBe(2);
    expect(kernel.handled).toBe(1);
  });

  it("runs events of one instant in the order asked for, where it has no seed", () => {
    const kernel = new Kernel(undefined);
    for (let subject = 0; subject < 20; subject++) kernel.schedule(5, nobody, "x", subject);
    expect(drain(kernel).map(({ subject }) => subject)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it("goes on alike in a copy, event for event, and apart from it", () => {
    const kernel = new Kernel(createRng(3));
    for (let subject = 0; subject < 50; subject++) kernel.schedule(subject % 7, nobody, "x", subject);
    for (let taken = 0; taken < 10; taken++) kernel.take();
    const copy = kernel.fork((actor) => actor);
    kernel.schedule(6, nobody, "x", 100);
    copy.schedule(6, nobody, "x", 100);
    expect(drain(copy)).toEqual(drain(kernel));
    expect(copy.handled).toBe(kernel.handled);
  });

  it("uses handed back events again, and tells them apart by what they are now", () => {
    const kernel = new Kernel(createRng(1));
    kernel.schedule(1, nobody, "x", 1, "payload", 7);
    const first = kernel.take() as KernelEvent;
    kernel.recycle(first);
    const second = kernel.schedule(2, nobody, "y", 2);
    expect(second).toBe(first);
    expect(second).toMatchObject({ atMs: 2, kind: "y", subject: 2, payload: undefined, detail: 0 });
  });
});

describe("a virtual clock", () => {
  const clock = (rate: number, quantumMs = 0): VirtualClock =>
    new VirtualClock({ rate, startMs: 1000, monoQuantumMs: quantumMs, bootQuantumMs: quantumMs });

  it("drifts by its rate", () => {
    expect(clock(1.01).read(100).mono).toBeCloseTo(1101, 9);
    expect(clock(0.99).trueTimeOf(1099)).toBeCloseTo(100, 9);
  });

  it("shows an instant behind the true one by less than its quantum, never ahead", () => {
    const coarse = clock(1, 20);
    for (let trueMs = 0; trueMs < 100; trueMs += 0.7) {
      const behind = 1000 + trueMs - coarse.read(trueMs).mono;
      expect(behind).toBeGreaterThanOrEqual(0);
      expect(behind).toBeLessThan(20);
    }
    expect(coarse.read(coarse.trueTimeOf(1050)).mono).toBeGreaterThanOrEqual(1050);
  });

  it("stops the mono hand while suspended, and both while frozen", () => {
    const hands = clock(1);
    const { mono, boot } = hands.read(10);
    hands.suspend(10);
    expect(hands.read(110)).toEqual({ mono, boot: boot + 100 });
    expect(hands.trueTimeOf(mono + 1)).toBe(Infinity);
    hands.resume(110);
    hands.freeze(120);
    expect(hands.read(500)).toEqual({ mono: mono + 10, boot: boot + 110 });
    hands.thaw(500);
    expect(hands.read(510)).toEqual({ mono: mono + 20, boot: boot + 120 });
  });

  it("jumps on the wall only", () => {
    const hands = clock(1);
    const [before, wall] = [hands.read(10), hands.readWall(10)];
    hands.jumpWall(-3_600_000);
    expect(hands.read(10)).toEqual(before);
    expect(hands.readWall(10)).toBe(wall - 3_600_000);
  });
});

describe("the network", () => {
  function deliver(spec: Partial<NetworkSpec>, prepare: (network: Network) => void = () => {}): unknown[] {
    const kernel = new Kernel(createRng(3));
    const network = new Network(kernel, createRng(4), { ...CALM_NETWORK, ...spec });
    const got: unknown[] = [];
    network.attach(1, { receive: (_from, message) => void got.push(message) });
    prepare(network);
    for (let message = 0; message < 50; message++) network.send(0, 1, message);
    for (const event of drain(kernel)) event.actor?.handle(event);
    return got;
  }

  it("delivers each message once when it is calm", () => {
    expect(deliver({}).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 50 }, (_, index) => index),
    );
  });

  it("loses, doubles and reorders where told to", () => {
    expect(deliver({ lossChance: 0.5 }).length).toBeLessThan(45);
    expect(deliver({ duplicateChance: 0.5 }).length).toBeGreaterThan(55);
    expect(deliver({ slowChance: 0.5, slowMaxMs: 100 })).not.toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it("cuts one direction at a time, and mends it", () => {
    expect(deliver({}, (network) => network.cut(0, 1))).toEqual([]);
    expect(deliver({}, (network) => network.cut(1, 0))).toHaveLength(50);
    const mended = deliver({}, (network) => {
      network.cut(0, 1);
      network.mend(0, 1);
    });
    expect(mended).toHaveLength(50);
  });

  it("stays cut while one of two cuts lasts", () => {
    const once = deliver({}, (network) => {
      network.cut(0, 1);
      network.cut(0, 1);
      network.mend(0, 1);
    });
    expect(once).toEqual([]);
  });

  it("delivers nothing in a held direction, and everything when it flows again", () => {
    let held: Network | undefined;
    const prepare = (network: Network): void => {
      held = network;
      network.hold(0, 1);
    };
    expect(deliver({}, prepare)).toEqual([]);
    expect(held?.release(0, 1).map(({ message }) => message)).toEqual(Array.from({ length: 50 }, (_, index) => index));
    expect(deliver({}, (network) => network.hold(1, 0))).toHaveLength(50);
  });
});
