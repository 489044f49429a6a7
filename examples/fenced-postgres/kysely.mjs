// The guard inside a transaction of Kysely: `admit` takes the transaction as it is.
import { postgresFence } from "conclave/fencing/postgres";

const fence = postgresFence();

/**
 * @param {import("kysely").Kysely<{ ledger: { row: string } }>} db
 * @param {string} row
 * @param {import("conclave").Fenced} term
 */
export async function append(db, row, term) {
  await db.transaction().execute(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.insertInto("ledger").values({ row }).execute();
  });
}
