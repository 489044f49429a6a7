// Chang–Roberts: its rules one by one, and its cost. Counted is every ELECTION and every ELECTED that is sent.
import { describe, expect, it } from "vitest";
import { createRng, changRoberts } from "conclave/protocols";
import { uniformLatency } from "conclave/simulator";
import { shuffled } from "../../src/simulator/protocols/partitions.ts";
import { loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

const ascending = (nodes: number): readonly number[] => Array.from({ length: nodes }, (_, index) => index + 1);
const descending = (nodes: number): readonly number[] => ascending(nodes).toReversed();

function permutations(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first) => permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

function cost(ring: readonly number[], initiators: readonly number[]): { elections: number; announcements: number } {
  const nodes = ring.length;
  const lines = initiators.map((id) => `tell ${id} campaign`);
  const { result } = elect("chang-roberts", { nodes, ring }, lines);
  expect(result).toMatchObject({ leader: nodes, term: 1, violations: [] });
  const { ELECTION: elections = 0, ELECTED: announcements = 0, ...others } = result.messages.byType;
  expect(others).toEqual({});
  return { elections, announcements };
}

describe("the cost of one initiator, ELECTION and ELECTED", () => {
  // N  →  best: the initiator is the would-be leader; worst: it is the successor of the would-be leader.
  it.each([
    { N: 2, best: 4, worst: 5 },
    { N: 3, best: 6, worst: 8 },
    { N: 5, best: 10, worst: 14 },
    { N: 7, best: 14, worst: 20 },
    { N: 20, best: 40, worst: 59 },
    { N: 100, best: 200, worst: 299 },
  ])("with $N: 2N = $best … 3N−1 = $worst", ({ N, best, worst }) => {
    expect([best, worst]).toEqual([2 * N, 3 * N - 1]);
    const total = (initiator: number): number => {
      const { elections, announcements } = cost(ascending(N), [initiator]);
      expect(announcements).toBe(N);
      return elections + announcements;
    };
    expect(total(N)).toBe(best);
    expect(total(1)).toBe(worst);
  });

  it("depends on nothing but the hops from the initiator to the best: over all orders of 5 and all initiators", () => {
    const N = 5;
    for (const ring of permutations(ascending(N)))
      for (const initiator of ring) {
        const hops = (ring.indexOf(N) - ring.indexOf(initiator) + N) % N;
        expect(cost(ring, [initiator])).toEqual({ elections: hops + N, announcements: N });
      }
  });
});

describe("the cost when all begin at once, ELECTION only; N ELECTED come on top", () => {
  const all = (ring: readonly number[]): number => {
    const { elections, announcements } = cost(ring, ring);
    expect(announcements).toBe(ring.length);
    return elections;
  };

  it.each([
    { N: 3, mean: 5.5 },
    { N: 4, mean: 8.3333 },
    { N: 5, mean: 11.4167 },
    { N: 6, mean: 14.7 },
  ])("with $N: N·H_N = $mean on average over all orders, 2N−1 at best, N(N+1)/2 at worst", ({ N, mean }) => {
    const harmonic = ascending(N).reduce((sum, k) => sum + 1 / k, 0);
    expect(N * harmonic).toBeCloseTo(mean, 3);
    // Turning the ring changes nothing: N is first.
    const counts = permutations(ascending(N - 1)).map((rest) => all([N, ...rest]));
    expect(counts.reduce((sum, count) => sum + count, 0) / counts.length).toBeCloseTo(mean, 3);
    expect(Math.min(...counts)).toBe(2 * N - 1);
    expect(Math.max(...counts)).toBe((N * (N + 1)) / 2);
  });

  it.each([3, 5, 7, 20, 100])("with %i: worst if ids fall clockwise, best if they rise", (N) => {
    expect(all(descending(N))).toBe((N * (N + 1)) / 2);
    expect(all(ascending(N))).toBe(2 * N - 1);
  });

  it("with 50: within 5 % of N·H_N over 400 random orders", () => {
    const [N, orders] = [50, 400];
    const rng = createRng(7);
    let sum = 0;
    for (let order = 0; order < orders; order++) sum += all(shuffled(N, rng));
    const expected = N * ascending(N).reduce((total, k) => total + 1 / k, 0);
    expect(Math.abs(sum / orders / expected - 1)).toBeLessThan(0.05);
  });

  it("is never more than that, whatever the delays", () => {
    for (let seed = 1; seed <= 100; seed++) {
      const links = { latency: uniformLatency(0, 10), lossChance: 0, duplicateChance: 0.3, isFifo: false };
      const lines = ascending(7).map((id) => `${seed % 2 === 0 ? id * 3 : 0}ms tell ${id} campaign`);
      const { result } = elect("chang-roberts", { nodes: 7, ring: descending(7), seed, links }, lines);
      expect(result).toMatchObject({ leader: 7, term: 1, violations: [] });
      expect(result.messages.byType["ELECTION"]).toBeLessThanOrEqual(28);
      expect(result.messages.byType["ELECTED"]).toBe(7);
    }
  });
});

describe("a node", () => {
  const token = (id: number) => ({ type: "ELECTION", round: 1, id, attr: id }) as const;
  const sent = (effects: readonly { type: string }[]): readonly unknown[] =>
    effects.flatMap((effect) => ("message" in effect ? [effect.message] : []));
  const joined = () => {
    const node = loneNode(changRoberts, { id: 3, nodes: 5 });
    node.start();
    return node;
  };

  it("passes a better token on", () => {
    const node = joined();
    node.receive(2, token(4));
    expect(sent(node.stored(1))).toEqual([token(4)]);
  });

  it("sends its own instead of a lesser one", () => {
    const node = joined();
    node.receive(2, token(1));
    expect(sent(node.stored(1))).toEqual([token(3)]);
  });

  it("swallows lesser ones once it has taken part, and the same one twice", () => {
    const node = joined();
    node.receive(2, token(4));
    node.stored(1);
    for (const id of [1, 2, 4]) expect(sent(node.receive(2, token(id)))).toEqual([]);
    expect(sent(node.receive(2, token(5)))).toEqual([token(5)]);
  });
});
