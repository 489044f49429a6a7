// Elsewhere: somebody who can delay renewals on the network can make a valid lease run out (a timing attack on leases).
// Here: it costs availability, never exclusion: the holder stops in time, the next leader has a greater token, and nobody believes twice.
// Taken out: test/mutants/deadline-from-receipt.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import { fakeStore, faulty } from "conclave/testing";

it("delayed-renewals-attack: with the leader's renewals held up just so, two never lead at one instant", async () => {
  const store = fakeStore();
  const terms = new Map<string, { isHeld(): boolean }>();
  const tokens: bigint[] = [];
  for (const id of ["a", "b", "c"]) {
    const network = faulty(store);
    void createCandidate({ store: network, id, ttlMs: 3_000, drainMs: 200 })
      .election("x")
      .lead(async (term) => {
        terms.set(id, term);
        tokens.push(term.token.value);
        // One renewal is applied, and its answer held up until just before its caller gives up; those after it never arrive.
        network.faults.next("keep", { answerAfterMs: 600 });
        for (let lost = 0; lost < 5; lost++) network.faults.next("keep", { hang: true });
        await term.ended;
      });
  }
  for (let elapsedMs = 0; elapsedMs < 120_000; elapsedMs += 10) {
    await store.advance(10);
    expect([...terms.values()].filter((term) => term.isHeld()).length).toBeLessThanOrEqual(1);
  }
  expect(tokens.length).toBeGreaterThan(10);
  expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0n))).toBe(true);
});
