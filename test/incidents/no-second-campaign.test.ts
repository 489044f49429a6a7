// Elsewhere: after one loss nobody campaigned again, and there was no leader at all (client-go, safe-redis-leader).
// Here: losing a term, or the store, never ends a candidate.
// Taken out: test/mutants/no-second-campaign.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { fakeStore } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { deposedAgainAndAgain } from "../support/store-incidents.ts";

it("no-second-campaign: a candidate that lost its term leads again, with a greater token", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000 });
  const tokens: bigint[] = [];
  void election.lead(async (term) => {
    tokens.push(term.token.value);
    await term.ended;
  });
  await store.advance(1);
  expect(tokens).toHaveLength(1);
  for (let round = 1; round <= 3; round++) {
    store.depose("x");
    await store.advance(60_000);
    expect(tokens).toHaveLength(round + 1);
  }
  expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0n))).toBe(true);
});

it.each(useRealStores())(
  "no-second-campaign: the same where somebody deletes its record on a real server, again and again (%s)",
  { timeout: 40_000 },
  (_, store) => deposedAgainAndAgain(store, expect),
);
