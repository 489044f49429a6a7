// A nightly job that runs once per fleet. Every replica keeps its scheduler; a tick does something only on the replica that leads.
// Needs PostgreSQL with the tables of `npx conclave schema postgres`.
import { elect, shutdownSignal } from "conclave";
import { type PgClient, postgres } from "conclave/stores/postgres";

declare const pool: PgClient; // new Pool({ connectionString: process.env.DATABASE_URL }) of pg
declare const cron: { schedule(when: string, tick: () => Promise<void>): void };
declare function bill(options: { signal: AbortSignal }): Promise<void>;

const election = elect("nightly-billing", { store: postgres(pool) });
election.start();

cron.schedule("0 3 * * *", async () => {
  const term = election.term();
  if (!term) return; // another replica leads
  await bill({ signal: term.signal });
});

shutdownSignal().addEventListener("abort", () => void election.close());
