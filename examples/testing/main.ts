// Testing one's own code without a store and without waiting: (a) a function that takes a term, (b) the whole loop, with time in hand.
// With vitest or jest each half would be a test; here they are plain statements.
import assert from "node:assert/strict";
import { elect, type Term } from "conclave";
import { fakeStore, fakeTerm } from "conclave/testing";

// The code under test.
const rows: { readonly row: string; readonly token: bigint }[] = [];
async function append(row: string, term: Term): Promise<void> {
  term.throwIfNotLeading();
  rows.push({ row, token: term.token.value });
}

// (a) A term that is held until the test says otherwise.
const term = fakeTerm({ token: 7n });
await append("a", term);
term.lose("expired");
await assert.rejects(append("b", term), { code: "TERM_LOST" });
assert.deepEqual(rows, [{ row: "a", token: 7n }]);

// (b) A store that stops answering, and a clock that is moved by hand.
const store = fakeStore();
const election = elect("x", { store, ttlMs: 10_000 });
election.start();
await store.advance(1);
assert.ok(election.term());
store.hang();
await store.advance(10_000);
assert.equal(election.term(), undefined);
