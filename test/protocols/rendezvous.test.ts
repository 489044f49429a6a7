// Rendezvous hashing: agreement, balance and minimal disruption, over drawn members and keys; and known values, because a change of the hash moves keys.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rendezvousOwner, rendezvousOwners, weightedOwner, weightedOwners } from "conclave/protocols";
import { fractionOf, hashText } from "../../src/protocols/rendezvous/hash.ts";

const names = fc.uniqueArray(fc.string({ maxLength: 12 }), { minLength: 2, maxLength: 12 });
const keys = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `key-${index}`);

function shares(owners: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const owner of owners) if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

/** How far counts are from what was expected: for `expected.length − 1` degrees of freedom, above `mean + 5 deviations` is no accident. */
function isBalanced(counts: readonly number[], expected: readonly number[]): boolean {
  const squares = counts.reduce(
    (sum, count, index) => sum + (count - (expected[index] ?? 0)) ** 2 / (expected[index] ?? 1),
    0,
  );
  const freedom = expected.length - 1;
  return squares < freedom + 5 * Math.sqrt(2 * freedom);
}

describe("an owner", () => {
  it("is the same for all who ask, in whatever order they list the members", () => {
    fc.assert(
      fc.property(names, fc.string(), fc.integer(), (members, key, turn) => {
        const place = Math.abs(turn) % members.length;
        const turned = [...members.slice(place), ...members.slice(0, place)].toReversed();
        expect(rendezvousOwner(key, turned)).toBe(rendezvousOwner(key, members));
        expect(rendezvousOwners(key, turned, 12)).toEqual(rendezvousOwners(key, members, 12));
      }),
    );
  });

  it("is nobody of nobody, and the only one of one", () => {
    expect(rendezvousOwner("key", [])).toBeUndefined();
    expect(rendezvousOwner("key", ["a"])).toBe("a");
    expect(rendezvousOwners("key", ["a", "b"], 5)).toHaveLength(2);
  });

  it("that leaves takes nothing of the others along: its keys go to their stand-ins, all other keys stay", () => {
    fc.assert(
      fc.property(names, fc.string(), fc.nat(), (members, key, which) => {
        const gone = members[which % members.length] ?? "";
        const before = rendezvousOwners(key, members, members.length);
        const after = rendezvousOwners(
          key,
          members.filter((id) => id !== gone),
          members.length,
        );
        expect(after).toEqual(before.filter((id) => id !== gone));
      }),
    );
  });

  it("that grows in weight only gains", () => {
    const weighted = fc.tuple(names, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 12, maxLength: 12 }));
    fc.assert(
      fc.property(weighted, fc.string(), fc.nat(), ([ids, weights], key, which) => {
        const members = ids.map((id, index) => ({ id, weight: weights[index] ?? 1 }));
        const chosen = which % members.length;
        const heavier = members.map((member, index) =>
          index === chosen ? { ...member, weight: member.weight * 3 } : member,
        );
        const [before, after] = [weightedOwner(key, members), weightedOwner(key, heavier)];
        expect([before, ids[chosen]]).toContain(after);
      }),
    );
  });

  it("with equal weights is the one without weights", () => {
    fc.assert(
      fc.property(names, fc.string(), fc.double({ min: 0.01, max: 100, noNaN: true }), (ids, key, weight) => {
        const members = ids.map((id) => ({ id, weight }));
        expect(weightedOwners(key, members, 3)).toEqual(rendezvousOwners(key, ids, 3));
      }),
    );
  });

  it("needs a weight above 0", () => {
    for (const weight of [0, -1, Number.NaN, Infinity])
      expect(() => weightedOwner("key", [{ id: "a", weight }])).toThrow();
  });
});

describe("balance", () => {
  it.each([2, 3, 5, 10, 50])("of 20,000 keys over %i members", (count) => {
    const members = Array.from({ length: count }, (_, index) => `node-${index}`);
    const owned = shares(keys(20_000).map((key) => rendezvousOwner(key, members)));
    const expected = members.map(() => 20_000 / count);
    expect(
      isBalanced(
        members.map((id) => owned.get(id) ?? 0),
        expected,
      ),
    ).toBe(true);
  });

  it("over members and keys of whatever names", () => {
    fc.assert(
      fc.property(names, fc.string({ maxLength: 5 }), (members, prefix) => {
        const owned = shares(keys(3000).map((key) => rendezvousOwner(prefix + key, members)));
        const expected = members.map(() => 3000 / members.length);
        return isBalanced(
          members.map((id) => owned.get(id) ?? 0),
          expected,
        );
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it("by weight", () => {
    const members = [1, 2, 3, 10].map((weight) => ({ id: `node-${weight}`, weight }));
    const owned = shares(keys(20_000).map((key) => weightedOwner(key, members)));
    expect(
      isBalanced(
        members.map(({ id }) => owned.get(id) ?? 0),
        members.map(({ weight }) => (20_000 * weight) / 16),
      ),
    ).toBe(true);
  });

  it("of what a member leaves behind, over all others", () => {
    const members = Array.from({ length: 6 }, (_, index) => `node-${index}`);
    const orphans = keys(30_000).filter((key) => rendezvousOwner(key, members) === "node-0");
    const others = members.slice(1);
    const owned = shares(orphans.map((key) => rendezvousOwner(key, others)));
    expect(
      isBalanced(
        others.map((id) => owned.get(id) ?? 0),
        others.map(() => orphans.length / others.length),
      ),
    ).toBe(true);
  });
});

describe("the hash", () => {
  it("is what it was: a change would move keys in running groups", () => {
    expect(KNOWN.map(([text]) => [text, hex(text)])).toEqual(KNOWN);
  });

  it("meets no two alike among 200,000 similar texts, in 64 bits or in the 53 that count", () => {
    const texts = Array.from({ length: 200_000 }, (_, index) => `node-${index % 500}/${(index / 500) | 0}`);
    expect(new Set(texts.map(hex)).size).toBe(texts.length);
    expect(new Set(texts.map((text) => fractionOf(hashText(text)))).size).toBe(texts.length);
  });

  it("changes about half of its bits when one bit of the text changes", () => {
    let [changed, pairs] = [0, 0];
    const leastByBit = Array.from({ length: 64 }, () => 0);
    for (let number = 0; number < 2000; number++)
      for (const flip of [1, 2, 4, 8, 16]) {
        const a = hashText(`key-${number}`);
        const b = hashText(`key-${number}`.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) ^ flip)));
        pairs++;
        for (let bit = 0; bit < 64; bit++) {
          const differs = (((bit < 32 ? a.high ^ b.high : a.low ^ b.low) >>> (bit % 32)) & 1) as 0 | 1;
          changed += differs;
          leastByBit[bit] = (leastByBit[bit] ?? 0) + differs;
        }
      }
    expect(changed / pairs / 64).toBeCloseTo(0.5, 2);
    for (const count of leastByBit) expect(Math.abs(count / pairs - 0.5)).toBeLessThan(0.03);
  });
});

function hex(text: string): string {
  const { high, low } = hashText(text);
  return [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");
}

const KNOWN: readonly (readonly [text: string, hash: string])[] = [
  ["", "91a8c266cf4b4de6"],
  ["a", "38a2671912ab43bc"],
  ["key-1", "d7afe9225712a17d"],
  ["key-2", "568b918faf4ae971"],
  ["Zürich ⚙", "59ea2be7bcc8ff13"],
];
