// Many requests of one call go a few at a time, so that a renewal finds a free road.
import { expect, it } from "vitest";
import { inTurns, piecesOf } from "../../src/stores/few-at-once.ts";

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("has sixteen under way, or as many as it is told, never more, and answers in order", async () => {
  for (const [told, most] of [
    [undefined, 16],
    [3, 3],
    [1, 1],
  ] as const) {
    let now = 0;
    let seen = 0;
    const work = async (item: number): Promise<number> => {
      seen = Math.max(seen, ++now);
      for (let times = item % 3; times >= 0; times--) await pause();
      now--;
      return 2 * item;
    };
    const items = Array.from({ length: 100 }, (_, place) => place);
    expect(await inTurns(items, work, told)).toEqual(items.map((item) => 2 * item));
    expect(seen).toBe(most);
  }
});

it("begins nothing more when one has failed, and fails as that one did", async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    await pause();
    if (item === 1) throw new Error("the second");
  };
  await expect(inTurns([0, 1, 2, 3, 4, 5, 6, 7], work, 2)).rejects.toThrow("the second");
  await pause();
  await pause();
  expect(begun.filter((item) => item > 2)).toEqual([]);
});

it("cuts into pieces that together are the whole", () => {
  expect(piecesOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(piecesOf([], 2)).toEqual([]);
});
