// Testing one's own code without a store and without waiting: (a) a function that takes a term, (b) the whole loop, with time in hand.
// With vitest or jest each half would be a test; here they are plain statements.
//
//   npm run build && node examples/testing/main.mjs
import assert from "node:assert/strict";
import { elect } from "conclave";
import { fakeStore, fakeTerm } from "conclave/testing";

// The code under test.
/** @type {{ row: string, token: bigint }[]} */
const rows = [];
/**
 * @param {string} row
 * @param {import("conclave").Term} term
 */
async function append(row, term) {
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
/** @type {import("conclave").ConclaveEvent[]} */
const heard = [];
const election = elect("x", { store, ttlMs: 10_000, onEvent: (event) => heard.push(event) });
election.start();
await store.advance(1);
assert.ok(election.isLeading());
store.hang();
await store.advance(10_000);
assert.equal(election.isLeading(), false);
assert.ok(heard.some((event) => event.type === "state" && event.state === "ending" && event.reason === "expired"));
console.log("what is asserted holds");
