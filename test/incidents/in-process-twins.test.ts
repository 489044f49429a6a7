// From the review of the design: two elections or locks of one name in one process must never both hold; a shared session would grant both.
// Here: askers of one candidate take turns in the process before the store is touched.
// Taken out: test/defences/in-process-twins.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { useRealStores } from "../support/real-stores.ts";

const stores: readonly (readonly [name: string, open: () => FencedStore])[] = [
  ["memory, race", () => memory({ shape: "race" })],
  ["memory, line", () => memory({ shape: "line" })],
  ...useRealStores().map(([name, store]) => [name, () => store.open()] as const),
];

it.each(stores)("in-process-twins: elections and locks of one name never hold together (%s)", async (_, open) => {
  await using candidate = createCandidate({ store: open(), ttlMs: 2000 });
  let inside = 0;
  const tokens: bigint[] = [];
  const work = async (term: { readonly token: { readonly value: bigint }; isHeld(): boolean }): Promise<void> => {
    expect(++inside).toBe(1);
    tokens.push(term.token.value);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(term.isHeld()).toBe(true);
    inside--;
  };
  await Promise.all([
    candidate.election("x").lead(work),
    candidate.withLock("x", work),
    candidate.election("x").lead(work),
    candidate.withLock("x", work),
    candidate
      .election("x")
      .campaign()
      .then(async (term) => {
        await work(term);
        await term.resign();
      }),
  ]);
  expect(tokens).toHaveLength(5);
  expect(new Set(tokens).size).toBe(5);
});
