// The guard inside a transaction of Drizzle, over pg or postgres: `admit` takes the transaction as it is.
import { pgTable, text } from "drizzle-orm/pg-core";
import { postgresFence } from "conclave/fencing/postgres";

const fence = postgresFence();
const ledger = pgTable("ledger", { row: text() });

/**
 * @param {import("drizzle-orm/pg-core").Database} db what drizzle(pool) returns
 * @param {string} row
 * @param {import("conclave").Fenced} term
 */
export async function append(db, row, term) {
  await db.transaction(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.insert(ledger).values({ row });
  });
}
