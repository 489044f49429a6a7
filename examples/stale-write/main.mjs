// Why a token: a leader sends a write, the write is slow, a successor is elected and writes first. When the slow write arrives, the ledger compares
// tokens and refuses it. Nothing in the old leader's process could have called that write back.
//
//   npm run build && node examples/stale-write/main.mjs
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";

const store = memory();

/** A resource that remembers the greatest token it has seen: the whole of fencing, in four lines. */
const ledger = {
  newest: 0n,
  /** @param {string} row @param {bigint} token */
  write(row, token) {
    if (token < this.newest) return console.log(`refused  "${row}": token ${token} is older than ${this.newest}`);
    this.newest = token;
    console.log(`accepted "${row}" with token ${token}`);
  },
};

const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });

const old = await first.election("ledger").campaign();
ledger.write("opening balance", old.token.value);
const slowWrite = { row: "sent long ago", token: old.token.value };

await old.resign(); // or its lease ran out: to the ledger that makes no difference
const successor = await second.election("ledger").campaign();
ledger.write("new entry", successor.token.value);

ledger.write(slowWrite.row, slowWrite.token);
await Promise.all([first.close(), second.close()]);
