// Elsewhere: whoever can delay renewals on the network can make a valid lease run out (a timing attack on leases).
// Here: it costs availability, never exclusion: the holder stops in time, whoever is next has a greater token, and nobody believes twice.
// Taken out: test/mutants/deadline-from-receipt.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import { fakeStore, faulty } from "conclave/testing";

it("delayed-renewals-attack: with every renewal held up just so, two never lead at one instant", async () => {
  const store = fakeStore();
  const terms = new Map<string, { isHeld(): boolean; readonly token: { readonly value: bigint } }>();
  const tokens: bigint[] = [];
  const attacked = ["a", "b"].map((id) => {
    const network = faulty(store);
    void createCandidate({ store: network, id, ttlMs: 3_000, drainMs: 200 })
      .election("x")
      .lead(async (term) => {
        terms.set(id, term);
        tokens.push(term.token.value);
        await term.ended;
      });
    return network;
  });
  for (let elapsedMs = 0; elapsedMs < 120_000; elapsedMs += 10) {
    // Each request is held up for as long as its caller still waits for it, and is applied after all.
    if (elapsedMs % 100 === 0)
      for (const network of attacked) network.faults.next("keep", { delayMs: 200 + (elapsedMs % 1_700) });
    await store.advance(10);
    expect([...terms.values()].filter((term) => term.isHeld()).length).toBeLessThanOrEqual(1);
  }
  expect(tokens.length).toBeGreaterThan(3);
  expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0n))).toBe(true);
});
