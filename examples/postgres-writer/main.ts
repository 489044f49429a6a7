// A writer whose successor makes it harmless: each transaction carries the token of its term, and the database refuses an older one. Elections and data are
// in one database here; they need not be.
//
//   npx conclave schema postgres --fence | psql "$DATABASE_URL"
import { elect, type Term, shutdownSignal } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import { postgres } from "conclave/stores/postgres";
import pg from "pg";

declare function nextRows(signal: AbortSignal): Promise<readonly string[]>;

const url = process.env["DATABASE_URL"] ?? "postgres://localhost/app";
const pool = new pg.Pool({ connectionString: url });
const fence = postgresFence();

async function append(rows: readonly string[], term: Term): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await fence.admit(client, "ledger", term); // first: refuses an older token, and keeps newer ones out until commit
    await client.query("INSERT INTO ledger SELECT * FROM unnest($1::text[])", [rows]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

// By its URL: the election has connections of its own, and does not wait behind the work for one of the pool.
await elect("ledger-writer", { store: postgres(url), ttlMs: 10_000 }).lead(
  async (term) => {
    // By the clock, and until told to stop: after SIGTERM the term is still held, so that this loop can end before the seat is given back.
    while (term.isLeading()) await append(await nextRows(term.signal), term);
  },
  { signal: shutdownSignal() },
);
await pool.end();
