// A nightly job that runs once per fleet. Every replica keeps its scheduler; a tick does something only on the replica that leads.
// `bill` notes in the database which night was billed, and does nothing for a night that was: a tick may come twice if the leader changes at that moment.
// Needs PostgreSQL.
import { elect, shutdownSignal } from "conclave";
import { type PgClient, postgres } from "conclave/stores/postgres";

declare const pool: PgClient; // new Pool({ connectionString: process.env.DATABASE_URL }) of pg
declare const cron: { schedule(when: string, tick: () => Promise<unknown>): void };
declare function bill(night: string, options: { signal: AbortSignal }): Promise<void>;

const election = elect("nightly-billing", { store: postgres(pool), logger: console });
election.start();

cron.schedule("0 3 * * *", () =>
  election.ifLeading((term) => bill(new Date().toISOString().slice(0, 10), { signal: term.signal })),
);

// Waits for the tick that runs, gives the seat back, and ends; at once where nothing runs.
shutdownSignal().addEventListener("abort", () => void election.close());
