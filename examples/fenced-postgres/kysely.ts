// The guard inside a transaction of Kysely: it takes the transaction as it is.
import type { Fenced } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import type { Kysely } from "kysely";

const fence = postgresFence();

export async function append(db: Kysely<{ ledger: { row: string } }>, row: string, term: Fenced): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.insertInto("ledger").values({ row }).execute();
  });
}
