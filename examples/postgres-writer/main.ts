// A writer whose successor makes it harmless: each transaction carries the token of its term, and the database refuses an older one.
// Needs `conclave/stores/postgres` and `conclave/fencing/postgres`, which are planned; examples/fenced-sqlite runs today.
import { elect, type FencedTerm, shutdownSignal } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import { postgres, type Queryable } from "conclave/stores/postgres";

declare const pool: Queryable & { transaction<R>(work: (tx: Queryable) => Promise<R>): Promise<R> };
declare function nextRows(signal: AbortSignal): Promise<readonly string[]>;
const fence = postgresFence();

async function append(rows: readonly string[], term: FencedTerm): Promise<void> {
  await pool.transaction(async (tx) => {
    await fence.admit(tx, "ledger", term); // first: refuses an older token, and holds the row until commit
    await tx.query("insert into ledger select * from unnest($1::text[])", [rows]);
  });
}

await elect("ledger-writer", { store: postgres(pool), ttlMs: 10_000 }).lead(
  async (term) => {
    // By the clock, and until told to stop: after SIGTERM the term is still held, so that this loop can end before the seat is given back.
    while (term.isLeading()) await append(await nextRows(term.signal), term);
  },
  { signal: shutdownSignal() },
);
