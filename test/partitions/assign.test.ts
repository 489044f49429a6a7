// The assignor: sticky, balanced, and moving no more than a change requires.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assign, type AssignMember, type AssignOrder, FIXED, NOBODY } from "../../src/partitions/assign.ts";

const equal = (count: number): readonly AssignMember[] => Array.from({ length: count }, () => ({ weight: 1 }));
const nobody = (count: number): Int32Array => new Int32Array(count).fill(NOBODY);

function loadsOf(wanted: Int32Array, members: number, weights?: Float64Array): readonly number[] {
  const loads = Array.from({ length: members }, () => 0);
  for (const [partition, member] of wanted.entries())
    if (member >= 0) loads[member] = (loads[member] ?? 0) + (weights?.[partition] ?? 1);
  return loads;
}

const moves = (before: Int32Array, after: Int32Array): number =>
  after.filter((member, partition) => before[partition] !== NOBODY && member !== before[partition]).length;

/** What is left of an assignment when one member is gone: places after it move up. */
const without = (owners: Int32Array, gone: number): Int32Array =>
  owners.map((owner) => (owner === gone ? NOBODY : owner > gone ? owner - 1 : owner));

describe("assign", () => {
  it("gives each of equal members the same number, or one more", () => {
    const loads = loadsOf(assign({ members: equal(7), owners: nobody(100) }), 7);
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
  });

  it("changes nothing when nothing has changed", () => {
    const owners = assign({ members: equal(9), owners: nobody(1000) });
    expect(assign({ members: equal(9), owners })).toEqual(owners);
  });

  it("moves only the partitions of a member that is gone", () => {
    const owners = assign({ members: equal(10), owners: nobody(1000) });
    const left = without(owners, 4);
    const after = assign({ members: equal(9), owners: left });
    expect(moves(left, after)).toBe(0);
    const loads = loadsOf(after, 9);
    expect(Math.max(...loads) / (1000 / 9)).toBeLessThan(1.1);
  });

  it("moves to a new member about its share, and nothing between the others", () => {
    const owners = assign({ members: equal(9), owners: nobody(900) });
    const after = assign({ members: equal(10), owners });
    const moved = [...after.entries()].filter(([partition, member]) => member !== owners[partition]);
    expect(moved.every(([, member]) => member === 9)).toBe(true);
    expect(moved.length).toBeGreaterThanOrEqual(80);
    expect(moved.length).toBeLessThanOrEqual(90);
  });

  it("gives a member its weight's share", () => {
    const members = [{ weight: 1 }, { weight: 3 }];
    expect(loadsOf(assign({ members, owners: nobody(400) }), 2)).toEqual([100, 300]);
  });

  it("balances partitions of different weights", () => {
    const weights = Float64Array.from({ length: 300 }, (_, partition) => 1 + (partition % 7));
    const loads = loadsOf(assign({ members: equal(5), owners: nobody(300), weights }), 5, weights);
    const even = loads.reduce((sum, load) => sum + load, 0) / 5;
    for (const load of loads) expect(Math.abs(load / even - 1)).toBeLessThan(0.1);
  });

  it("takes everything from a member that drains, and gives it nothing; if all drain, all stays", () => {
    const owners = assign({ members: equal(4), owners: nobody(80) });
    const members = equal(4).map((member, place) => ({ ...member, isDraining: place === 2 }));
    expect(loadsOf(assign({ members, owners }), 4)[2]).toBe(0);
    const all = equal(4).map((member) => ({ ...member, isDraining: true }));
    expect(assign({ members: all, owners })).toEqual(owners);
  });

  it("follows a transfer, also against balance, and does not take it back", () => {
    const owners = assign({ members: equal(4), owners: nobody(8) });
    const pinned = new Map([0, 1, 2, 3, 4, 5].map((partition) => [partition, 3]));
    const after = assign({ members: equal(4), owners, pinned });
    expect(after.slice(0, 6)).toEqual(Int32Array.from([3, 3, 3, 3, 3, 3]));
    expect(assign({ members: equal(4), owners: after, pinned })).toEqual(after);
  });

  it("leads a partition at its preferred member while that has room", () => {
    const owners = assign({ members: equal(2), owners: nobody(10) });
    const preferred = nobody(10).map((_, partition) => (partition < 5 ? 1 : 0));
    const after = assign({ members: equal(2), owners, preferred });
    expect([...after]).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
    const all = nobody(10).fill(1);
    expect(loadsOf(assign({ members: equal(2), owners, preferred: all }), 2)).toEqual([5, 5]);
  });

  it("places a partition in its zone while a member there has room, and elsewhere otherwise", () => {
    const members = ["a", "a", "b", "b"].map((zone) => ({ weight: 1, zone }));
    const zoneOf = (partition: number): string => (partition % 2 === 0 ? "a" : "b");
    const wanted = assign({ members, owners: nobody(40), zoneOf });
    expect([...wanted].every((member, partition) => members[member]?.zone === zoneOf(partition))).toBe(true);
    const lonely = assign({ members, owners: nobody(40), zoneOf: () => "a" });
    expect(Math.max(...loadsOf(lonely, 4))).toBeLessThanOrEqual(11);
  });

  it("leaves alone what cannot be taken yet", () => {
    const owners = Int32Array.from([FIXED, 0, FIXED, NOBODY]);
    const wanted = assign({ members: equal(1), owners });
    expect([...wanted]).toEqual([FIXED, 0, FIXED, 0]);
  });

  it("takes no more from the living than it is allowed at once", () => {
    const owners = assign({ members: equal(2), owners: nobody(100) });
    const members = equal(4);
    expect(moves(owners, assign({ members, owners, movesMax: 7 }))).toBe(7);
    expect(moves(owners, assign({ members, owners, movesMax: 0 }))).toBe(0);
  });

  it("comes to rest with preferred members and few moves at once, and is even within one partition or 5 %", () => {
    const order = fc.record({
      weights: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 5 }),
      homes: fc.array(fc.integer({ min: -1, max: 4 }), { minLength: 1, maxLength: 40 }),
      movesMax: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(order, ({ weights, homes, movesMax }) => {
        const members = weights.map((weight) => ({ weight }));
        const preferred = Int32Array.from(homes, (home) => (home < members.length ? home : NOBODY));
        const given = { members, preferred, movesMax };
        let owners = assign({ ...given, owners: new Int32Array(homes.length), movesMax: 0 });
        for (let calls = 0; calls < 100; calls++) owners = assign({ ...given, owners });
        expect(assign({ ...given, owners })).toEqual(owners);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        for (const [member, load] of loadsOf(owners, members.length).entries()) {
          const share = (homes.length * (weights[member] ?? 0)) / total;
          expect(Math.abs(load - share)).toBeLessThanOrEqual(Math.max(1, share * 0.05) + 1e-9);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is even within 10 % or one partition, and stable, for any members, partitions and history", () => {
    const order = fc.record({
      members: fc.integer({ min: 1, max: 12 }),
      owners: fc.array(fc.integer({ min: -1, max: 11 }), { minLength: 1, maxLength: 300 }),
    });
    fc.assert(
      fc.property(order, ({ members, owners }) => {
        const from = Int32Array.from(owners, (owner) => (owner < members ? owner : NOBODY));
        const given: AssignOrder = { members: equal(members), owners: from };
        const wanted = assign(given);
        const even = owners.length / members;
        for (const load of loadsOf(wanted, members)) {
          expect(load).toBeLessThanOrEqual(Math.max(Math.ceil(even), even * 1.1));
          expect(load).toBeGreaterThanOrEqual(Math.min(Math.floor(even), even * 0.9));
        }
        expect(assign({ ...given, owners: wanted })).toEqual(wanted);
      }),
      { numRuns: 300 },
    );
  });
});
