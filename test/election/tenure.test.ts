// Maximum tenure, as the user of a term sees it: the signal aborts with the reason, the work drains, another leads; and it goes on so, in turns.
import { expect, it } from "vitest";
import { createCandidate, type Term, TermLostError } from "conclave";
import { fakeStore } from "conclave/testing";

const TTL_MS = 10_000;
const TENURE_MS = 30_000;

function stage() {
  const store = fakeStore();
  const open = (id: string) => createCandidate({ store, id, ttlMs: TTL_MS, drainMs: 2000, maxTenureMs: TENURE_MS });
  return { store, open };
}

it("two candidates lead in turns, and each work is told why it ends", async () => {
  const { store, open } = stage();
  const turns: [id: string, value: bigint, reason: unknown][] = [];
  const stop = new AbortController();
  const leading = ["one", "two"].map((id) =>
    open(id)
      .election("x")
      .lead(
        async (term: Term) => {
          await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve()));
          const { reason } = term.signal;
          turns.push([id, term.token.value, reason instanceof TermLostError ? reason.reason : reason]);
        },
        { signal: stop.signal },
      ),
  );
  for (let second = 0; second < 130; second++) await store.advance(1000);
  stop.abort();
  await store.advance(1);
  await Promise.all(leading);
  expect(turns.slice(0, 4)).toEqual([
    ["one", 1n, "tenure"],
    ["two", 2n, "tenure"],
    ["one", 3n, "tenure"],
    ["two", 4n, "tenure"],
  ]);
});

it("nobody else stands: it leads again after a pause, with a new token", async () => {
  const { store, open } = stage();
  const election = open("one").election("x");
  election.start();
  await store.advance(1);
  expect(election.term()?.token.value).toBe(1n);
  for (let second = 0; second < 45; second++) await store.advance(1000);
  expect(election.term()?.token.value).toBe(2n);
});
