// Members of a group that are not alike, from `joinPartitions` on: weights, zones, preferred members, with drains and transfers. And a rolling restart: all members leave and come back, one after the other.
import { afterEach, describe, expect, it, vi } from "vitest";
import { closeAll, Floor, PARTITIONS } from "./floor.ts";

afterEach(closeAll);

/** The first assignment waits until all members are there. */
const GATHER = { gatherMs: 1000 };

describe("members that are not alike", () => {
  it("have partitions by their weights, also while one of them drains", { timeout: 60_000 }, async () => {
    const floor = new Floor(GATHER);
    const weights = { a: 1, b: 3, c: 2 };
    const [a] = await Promise.all(Object.entries(weights).map(([id, weight]) => floor.join(id, { weight })));
    await floor.rests({ a: 2, b: 6, c: 4 });
    await a?.drain("b");
    await floor.rests({ a: 4, c: 8 });
    await a?.undrain("b");
    await floor.rests({ a: 2, b: 6, c: 4 });
  });

  it("share heavy and light partitions by what these weigh", { timeout: 60_000 }, async () => {
    const weightOf = (partition: number): number => (partition < 3 ? 3 : 1);
    const floor = new Floor({ ...GATHER, partitions: { count: PARTITIONS, weightOf } });
    await Promise.all(["a", "b"].map((id) => floor.join(id)));
    await vi.waitFor(() => expect(floor.at.every(({ size }) => size === 1)).toBe(true), { timeout: 15_000 });
    const weighs = (id: string): number =>
      floor.partitionsOf(id).reduce((sum, partition) => sum + weightOf(partition), 0);
    expect(weighs("a") + weighs("b")).toBe(18);
    expect(weighs("a")).toBe(9);
  });

  it("lead what lies in their zone, and the rest of it if nobody else is there", { timeout: 60_000 }, async () => {
    const zoneOf = (partition: number): string => (partition % 2 === 0 ? "east" : "west");
    const floor = new Floor({ gatherMs: 3000, partitions: { count: PARTITIONS, zoneOf } });
    const members = await Promise.all(
      ["east", "west"].flatMap((zone) => ["a", "b"].map((name) => floor.join(`${zone}-${name}`, { zone }))),
    );
    await floor.rests({ "east-a": 3, "east-b": 3, "west-a": 3, "west-b": 3 });
    const inZone = (zone: string): readonly number[] =>
      ["a", "b"].flatMap((name) => floor.partitionsOf(`${zone}-${name}`)).toSorted((a, b) => a - b);
    expect(inZone("east")).toEqual([0, 2, 4, 6, 8, 10]);
    expect(inZone("west")).toEqual([1, 3, 5, 7, 9, 11]);
    await Promise.all(members.slice(2).map((member) => member.close()));
    await floor.rests({ "east-a": 6, "east-b": 6 });
  });

  it(
    "lead what prefers them while they are there, and get it back when they come again",
    { timeout: 60_000 },
    async () => {
      const preferredOf = (partition: number): string | undefined => (partition < 4 ? "b" : undefined);
      const floor = new Floor({ partitions: { count: PARTITIONS, preferredOf } });
      await floor.join("a");
      await floor.rests({ a: 12 });
      const b = await floor.join("b");
      await floor.rests({ a: 6, b: 6 });
      expect(floor.partitionsOf("b")).toEqual(expect.arrayContaining([0, 1, 2, 3]));
      await b.close();
      await floor.rests({ a: 12 });
      await floor.join("b");
      await floor.rests({ a: 6, b: 6 });
      expect(floor.partitionsOf("b")).toEqual(expect.arrayContaining([0, 1, 2, 3]));
    },
  );

  it("keep to a transfer before a preference, also after the member was restarted", { timeout: 60_000 }, async () => {
    const floor = new Floor({ ...GATHER, partitions: { count: PARTITIONS, preferredOf: () => "a" } });
    const [a, b] = await Promise.all(["a", "b"].map((id) => floor.join(id)));
    await floor.rests({ a: 6, b: 6 });
    const moved = floor.partitionsOf("a")[0] ?? -1;
    await a?.transfer(moved, "b");
    const isMoved = (): void => expect(floor.partitionsOf("b")).toContain(moved);
    await vi.waitFor(isMoved, { timeout: 15_000 });
    await b?.close();
    await floor.rests({ a: 12 });
    await floor.join("b");
    await vi.waitFor(isMoved, { timeout: 15_000 });
    expect(floor.overlaps).toEqual([]);
  });
});

describe("a rolling restart", () => {
  it(
    "leaves no partition without a leader but while it is handed over, and moves each about twice",
    { timeout: 90_000 },
    async () => {
      const ttlMs = 4000;
      const floor = new Floor({ ttlMs });
      const ids = ["a", "b", "c"];
      const members = await Promise.all(ids.map((id) => floor.join(id)));
      await floor.rests({ a: 4, b: 4, c: 4 });
      const begunBefore = floor.begins;
      for (const [place, id] of ids.entries()) {
        await members[place]?.close();
        const others = ids.filter((each) => each !== id);
        await floor.rests(Object.fromEntries(others.map((each) => [each, 6])));
        await floor.join(id);
        await floor.rests({ a: 4, b: 4, c: 4 });
      }
      // Each member leaves four partitions behind, and four come to it when it is back.
      expect(floor.begins - begunBefore).toBe(3 * (4 + 4));
      // Nobody waits for a ttl, also when the controller is restarted.
      expect(Math.max(...floor.gapsMs)).toBeLessThan(ttlMs / 2);
    },
  );
});
