// LeLann: its rule, and its cost. Counted is every ELECTION; ELECTED, once around, comes on top.
import { describe, expect, it } from "vitest";
import { createRng, lelann } from "conclave/protocols";
import { fixedLatency, uniformLatency } from "conclave/simulator";
import { shuffled } from "../../src/simulator/protocols/partitions.ts";
import { loneNode } from "./lone-node.ts";
import { elect } from "./script.ts";

describe("the cost", () => {
  it.each([
    { N: 2, elections: 4 },
    { N: 3, elections: 9 },
    { N: 5, elections: 25 },
    { N: 7, elections: 49 },
    { N: 20, elections: 400 },
  ])("with $N: N² = $elections ELECTION and N ELECTED, in any order, no matter which and how many begin", (row) => {
    const { N, elections } = row;
    const rng = createRng(N);
    for (let begin = 1; begin <= N; begin++) {
      const lines = shuffled(N, rng)
        .slice(0, begin)
        .map((id) => `tell ${id} campaign`);
      const { result } = elect("lelann", { nodes: N, ring: shuffled(N, rng) }, lines);
      expect(result).toMatchObject({ leader: N, term: 1, violations: [] });
      expect(result.messages).toEqual({ total: N ** 2 + N, byType: { ELECTION: elections, ELECTED: N } });
    }
    expect(elections).toBe(N ** 2);
  });

  it("is the same whatever the delays, and with doubled messages", () => {
    for (let seed = 1; seed <= 100; seed++) {
      const links = { latency: uniformLatency(0, 10), lossChance: 0, duplicateChance: 0.3, isFifo: true };
      const lines = [1, 2, 3, 4, 5].map((id) => `${seed % 3 === 0 ? id * 4 : 0}ms tell ${id} campaign`);
      const { result } = elect("lelann", { nodes: 5, ring: [2, 5, 1, 4, 3], seed, links }, lines);
      expect(result).toMatchObject({ leader: 5, term: 1, violations: [] });
      expect(result.messages.byType).toEqual({ ELECTION: 25, ELECTED: 5 });
    }
  });
});

describe("a node", () => {
  const token = (id: number) => ({ type: "ELECTION", round: 1, id, attr: id }) as const;
  const sent = (effects: readonly { type: string }[]): readonly unknown[] =>
    effects.flatMap((effect) => ("message" in effect ? [effect.message] : []));

  it("sends its own token before the first that it passes on, then passes all, each once", () => {
    const node = loneNode(lelann, { id: 3, nodes: 5 });
    node.start();
    node.receive(2, token(1));
    expect(sent(node.stored(1))).toEqual([token(3), token(1)]);
    expect(sent(node.receive(2, token(5)))).toEqual([token(5)]);
    expect(sent(node.receive(2, token(1)))).toEqual([]);
  });

  it("whose token is back leads only if nobody better has passed", () => {
    const best = loneNode(lelann, { id: 5, nodes: 5 });
    const other = loneNode(lelann, { id: 3, nodes: 5 });
    for (const node of [best, other]) {
      node.start();
      node.command({ type: "campaign" });
      node.stored(1);
      node.receive(1, token(4));
      node.receive(1, token(node === best ? 5 : 3));
    }
    expect(best.state.phase).toBe("leading");
    expect(other.state.phase).toBe("running");
  });
});

describe("a lesser one that was elected because a token died", () => {
  // 4, the best, and 1 begin. The token of 4 finds 3 dead, that of 1 finds it back: 1 is elected without having seen 4. The one before 3, which would begin a new
  // round because 3 is back, dies before it hears so.
  it("is not followed by the better one", () => {
    const links = { latency: fixedLatency(1), lossChance: 0, duplicateChance: 0, isFifo: true };
    const { result, events } = elect(
      "lelann",
      { nodes: 4, ring: [1, 4, 2, 3], attributes: [5, 2, 1, 9], leader: 4, links },
      [
        "hold 3>2",
        "tell 4 campaign",
        "0.8ms tell 1 campaign",
        "1.5ms crash 3",
        "2.5ms restart 3",
        "7ms crash 2",
        "9ms release 3>2",
      ],
      { isRecorded: true },
    );
    expect(events).toContainEqual({
      atMs: expect.closeTo(4.8, 3),
      type: "announce",
      node: 1,
      role: "leader",
      leader: 1,
      term: 1,
    });
    expect(result).toMatchObject({ leader: 4, violations: [] });
  });
});
