// Elsewhere: session timeouts under a partition made controllers resign one after another, and each takeover was work for everybody (Kafka's "resign storm").
// Here: it costs availability, never exclusion; pauses double while terms stay short, so that a storm dies down.
// Taken out: test/defences/resign-storm.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import { fakeStore } from "conclave/testing";

it("resign-storm: terms that end at once come ever more rarely, and never two together", async () => {
  const store = fakeStore();
  let inside = 0;
  let nowMs = 0;
  const begins: number[] = [];
  for (const id of ["a", "b", "c"]) {
    void createCandidate({ store, id, ttlMs: 10_000 })
      .election("x")
      .lead(async (term) => {
        expect(++inside).toBe(1);
        begins.push(nowMs);
        if (begins.length > 2_000) await new Promise(() => {}); // a storm without end: let the test come to its end
        await term.resign();
        inside--;
      });
  }
  for (; nowMs < 120_000; nowMs += 100) await store.advance(100);
  const inFirst = begins.filter((at) => at < 10_000).length;
  const inLast = begins.filter((at) => at >= 110_000).length;
  expect(inFirst).toBeGreaterThan(3);
  expect(inLast).toBeLessThan(inFirst * 0.75); // half is usual; the pauses are drawn
  expect(inLast).toBeGreaterThan(0);
});
