// A writer whose successor makes it harmless: each transaction carries the token of its term, and the database refuses an older one. Elections and data are
// in one database here; they need not be.
//
//   npm run build && npx conclave schema postgres --fence | psql "$DATABASE_URL" && node examples/postgres-writer/main.mjs
import { setTimeout as sleep } from "node:timers/promises";
import { elect, shutdownSignal } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import { postgres } from "conclave/stores/postgres";
import pg from "pg";

const url = process.env["DATABASE_URL"] ?? "postgres://localhost/app";
const pool = new pg.Pool({ connectionString: url });
const fence = postgresFence();
await pool.query("CREATE TABLE IF NOT EXISTS ledger (entry text NOT NULL)");

/**
 * @param {string} entry
 * @param {import("conclave").Term} term
 */
async function append(entry, term) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await fence.admit(client, "ledger", term); // first: refuses an older token, and keeps newer ones out until commit
    await client.query("INSERT INTO ledger VALUES ($1)", [entry]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

// By its URL: the election has connections of its own, and does not wait behind the work for one of the pool.
const election = elect("ledger-writer", {
  store: postgres(url),
  ttlMs: 10_000,
  logger: { ...console, info() {}, debug() {} },
});
await election.lead(
  async (term) => {
    // By the clock, and until told to stop: after SIGTERM the term is still held, so that this loop can end before the seat is given back.
    for (let entry = 1; term.isLeading(); entry++) {
      await append(`entry ${entry} of term ${term.token.value}`, term);
      console.log(`wrote entry ${entry}`);
      await sleep(200, undefined, { signal: term.signal }).catch(() => {});
    }
  },
  { signal: shutdownSignal({ exitWithinMs: 8_000 }) },
);
await pool.end();
