// The guard inside an interactive transaction of Prisma: `admit` takes the transaction as it is. The types below are the part of the generated client that is used.
import { postgresFence } from "conclave/fencing/postgres";

const fence = postgresFence();

/**
 * @typedef {object} TransactionClient
 * @property {(query: string, ...values: unknown[]) => Promise<unknown>} $queryRawUnsafe
 * @property {{ create(entry: { data: { row: string } }): Promise<unknown> }} ledger
 */

/**
 * @param {{ $transaction(work: (tx: TransactionClient) => Promise<void>): Promise<void> }} prisma
 * @param {string} row
 * @param {import("conclave").Fenced} term
 */
export async function append(prisma, row, term) {
  await prisma.$transaction(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.ledger.create({ data: { row } });
  });
}
