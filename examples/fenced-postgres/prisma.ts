// The guard inside an interactive transaction of Prisma. The type below is the part of the generated client that is used here.
import type { Fenced } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";

interface TransactionClient {
  $queryRawUnsafe(query: string, ...values: unknown[]): Promise<unknown>;
  readonly ledger: { create(entry: { data: { row: string } }): Promise<unknown> };
}
interface PrismaClient {
  $transaction<R>(work: (tx: TransactionClient) => Promise<R>): Promise<R>;
}

const fence = postgresFence();

export async function append(prisma: PrismaClient, row: string, term: Fenced): Promise<void> {
  await prisma.$transaction(async (tx) => {
    await fence.admit(tx, "ledger", term);
    await tx.ledger.create({ data: { row } });
  });
}
