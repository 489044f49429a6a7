// First in, first out, and no longer than what waits in it.
import { expect, it } from "vitest";
import { Queue } from "../../src/base/queue.ts";

it("gives every item once, in order, however adding and taking alternate", () => {
  const queue = new Queue<number>();
  const taken: (number | undefined)[] = [];
  let added = 0;
  for (let round = 0; round < 500; round++) {
    for (let i = 0; i < (round * 7) % 5; i++) queue.add(added++);
    for (let i = 0; i < (round * 3) % 4; i++) taken.push(queue.take());
  }
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  expect(taken.filter((item) => item !== undefined)).toEqual(Array.from({ length: added }, (_, index) => index));
  expect(queue.take()).toBeUndefined();
});

it("gives back the places of taken items, also if it never gets empty", () => {
  const queue = new Queue<{ n: number }>();
  queue.add({ n: 0 });
  for (let n = 1; n <= 100_000; n++) {
    queue.add({ n });
    expect(queue.take()?.n).toBe(n - 1);
    expect(queue.places).toBeLessThanOrEqual(200);
  }
});
