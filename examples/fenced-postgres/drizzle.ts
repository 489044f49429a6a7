// The guard inside a transaction of Drizzle, over pg or postgres. The type below is the part of `drizzle(pool)` that is used here.
import type { Fenced } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";

interface Transaction {
  execute(query: string): Promise<unknown>;
  insert(table: Table): { values(row: { row: string }): Promise<unknown> };
}
interface Database {
  transaction<R>(work: (tx: Transaction) => Promise<R>): Promise<R>;
}
interface Table {
  readonly row: unknown;
}
declare const ledger: Table; // pgTable("ledger", { row: text() })

const fence = postgresFence();

export async function append(db: Database, row: string, term: Fenced): Promise<void> {
  await db.transaction(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.insert(ledger).values({ row });
  });
}
