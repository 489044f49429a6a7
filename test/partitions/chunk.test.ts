// Chunks, epochs and layouts: what stands in a memo, and how it is compared.
import { describe, expect, it } from "vitest";
import { makeToken } from "../../src/fencing/token.ts";
import { formatToken, parseToken } from "conclave";
import { memoryFence } from "conclave/fencing";
import { type Chunk, formatChunk, parseChunk, sessionRef, UNASSIGNED } from "../../src/partitions/chunk.ts";
import { chunksOf, layoutOf, mostPartitions, sizeOfChunk } from "../../src/partitions/layout.ts";
import { compareRevisions, covers, epochDomain, epochToken, type Revision } from "../../src/partitions/revision.ts";

const at = (token: bigint, n: number, bid = `bid-${token}`): Revision => ({ term: { token, bid }, n });
const web = sessionRef("web-1", 41n, "k3");
/** Of most stores, and of Kubernetes. */
const ROOMS = [
  { keys: 128, bytes: 65_536 },
  { keys: 16, bytes: 8192 },
] as const;

describe("a chunk", () => {
  const chunk: Chunk = {
    revision: at(12n, 3),
    entries: [
      { owner: web, epoch: at(12n, 3), revokedAt: undefined },
      { owner: sessionRef('we"b é', 2n ** 63n - 1n, "zz"), epoch: at(7n, 36), revokedAt: at(12n, 2) },
      { owner: undefined, epoch: at(7n, 1), revokedAt: undefined },
      UNASSIGNED,
    ],
  };

  it("comes back from its text as it was", () => {
    expect(parseChunk(formatChunk(chunk))).toEqual(chunk);
  });

  it("refuses what was not written as one", () => {
    const text = formatChunk(chunk);
    for (const broken of [
      "",
      "{}",
      "null",
      text.slice(1),
      text.replace('"v":1', '"v":2'),
      text.replace("0.0.3", "9.0.3"),
    ])
      expect(() => parseChunk(broken)).toThrow(expect.objectContaining({ code: "STORE_FOREIGN_DATA" }));
  });

  it.each(ROOMS)("of the largest kind fits into a memo of %o, each partition with a session of its own", (room) => {
    const { chunkSize } = layoutOf(mostPartitions(room), room);
    const entries = Array.from({ length: chunkSize }, (_, place) => ({
      owner: sessionRef(
        `${String(place).padStart(4, "0")}-member-of-24-bytes`.slice(0, 24),
        BigInt(place) + 10n ** 9n,
        "abcdefg",
      ),
      epoch: at(10n ** 9n, 100_000 + place),
      revokedAt: undefined,
    }));
    expect(formatChunk({ revision: at(10n ** 9n, 200_000), entries }).length).toBeLessThanOrEqual(room.bytes);
  });
});

describe("a layout", () => {
  it.each(ROOMS)("has each partition in exactly one chunk, and a key for each chunk and the index (%o)", (room) => {
    const most = mostPartitions(room);
    for (const count of [1, 31, 32, 33, 100, 300, 500, 900, 10_000, 100_000, most].filter((each) => each <= most)) {
      const layout = layoutOf(count, room);
      const sizes = Array.from({ length: chunksOf(layout) }, (_, chunk) => sizeOfChunk(layout, chunk));
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(count);
      expect(sizes.every((size) => size > 0)).toBe(true);
      expect(sizes.length).toBeLessThanOrEqual(room.keys - 8);
    }
  });

  it("says how many partitions fit", () => {
    expect(mostPartitions({ keys: 128, bytes: 65_536 })).toBe(109_200);
    expect(mostPartitions({ keys: 16, bytes: 8192 })).toBe(904);
  });
});

describe("an epoch", () => {
  const domain = epochDomain("etcd:1484", "orders");

  it("is one number that grows with the controller's term, then with the writes", () => {
    const values = [at(1n, 1), at(1n, 2), at(1n, 2 ** 40), at(2n, 1)].map((each) => epochToken(domain, each).value);
    expect(values).toEqual(values.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(values[0]).toBe(2n ** 64n + 1n);
    expect(epochToken(domain, at(5n, 7))).toEqual({
      domain: "etcd:1484/partitions/orders",
      value: 5n * 2n ** 64n + 7n,
      bid: "bid-5/7",
    });
  });

  it("is a fencing token: it survives its text, and a guard refuses an older one", async () => {
    const greatest = makeToken(epochToken(domain, at(2n ** 62n, 2 ** 40)));
    expect(parseToken(formatToken(greatest))).toEqual(greatest);
    const fence = memoryFence();
    await fence.run("partition-7", { token: makeToken(epochToken(domain, at(2n, 1))) }, async () => {});
    const stale = fence.run("partition-7", { token: makeToken(epochToken(domain, at(1n, 99))) }, async () => {});
    await expect(stale).rejects.toMatchObject({ code: "TOKEN_STALE" });
  });

  it("covers what was written at or before it, and nothing of a term whose number it shares by accident", () => {
    expect(covers(at(2n, 3), at(2n, 3))).toBe(true);
    expect(covers(at(2n, 3), at(2n, 4))).toBe(false);
    expect(covers(at(3n, 1), at(2n, 9))).toBe(true);
    expect(covers(at(2n, 9, "other"), at(2n, 3))).toBe(false);
    expect(compareRevisions(at(2n, 9), at(3n, 1))).toBeLessThan(0);
  });
});
